package chunk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/otkit/otkit/tags"
)

// Point is one sample.
type Point struct {
	Micros  int64 // since 1970, UTC
	Value   tags.Value
	Quality tags.Quality
	Reason  tags.Reason
}

// MaxPoints is the most that one block holds. It also bounds what decoding a damaged block can cost.
const MaxPoints = 1 << 16

// ErrDamaged is returned for what is no block.
var ErrDamaged = errors.New("damaged block of samples")

// The kinds of values as they are stored. They must not change.
const (
	kindNone = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindBytes
)

func kindOf(v tags.Value) byte {
	switch v.Type() {
	case tags.Float:
		return kindFloat
	case tags.Int:
		return kindInt
	case tags.Bool:
		return kindBool
	case tags.String:
		return kindString
	case tags.Bytes:
		return kindBytes
	}
	return kindNone
}

// Append adds a block of points, which are in ascending order of time, to dst. base is a time near
// the first one; Decode must be given the same. There must be 1 to MaxPoints points.
func Append(dst []byte, base int64, points []Point) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(points)))
	dst = appendTimes(dst, base, points)
	dst = appendRuns(dst, points, func(p *Point) uint64 { return uint64(p.Reason)<<2 | uint64(p.Quality) })
	var values encoder
	for start := 0; start < len(points); {
		kind, end := kindOf(points[start].Value), start+1
		for end < len(points) && kindOf(points[end].Value) == kind {
			end++
		}
		dst = append(dst, kind)
		dst = binary.AppendUvarint(dst, uint64(end-start))
		dst = values.append(dst, kind, points[start:end])
		start = end
	}
	return dst
}

// appendTimes writes the first time relative to base, then each change of the interval; a 0 is
// followed by how many more there are.
func appendTimes(dst []byte, base int64, points []Point) []byte {
	dst = binary.AppendVarint(dst, points[0].Micros-base)
	before, interval := points[0].Micros, int64(0)
	for i := 1; i < len(points); {
		step := points[i].Micros - before
		change := step - interval
		before, interval = points[i].Micros, step
		dst = binary.AppendVarint(dst, change)
		i++
		if change != 0 {
			continue
		}
		same := 0
		for i < len(points) && points[i].Micros-before == interval {
			before = points[i].Micros
			same++
			i++
		}
		dst = binary.AppendUvarint(dst, uint64(same))
	}
	return dst
}

func appendRuns(dst []byte, points []Point, of func(*Point) uint64) []byte {
	for start := 0; start < len(points); {
		v, end := of(&points[start]), start+1
		for end < len(points) && of(&points[end]) == v {
			end++
		}
		dst = binary.AppendUvarint(dst, v)
		dst = binary.AppendUvarint(dst, uint64(end-start))
		start = end
	}
	return dst
}

// encoder remembers the last value of each kind.
type encoder struct {
	float uint64
	whole int64
	text  [2]string // of strings and of bytes
	any   [2]bool
}

func (e *encoder) append(dst []byte, kind byte, points []Point) []byte {
	switch kind {
	case kindBool:
		return appendBools(dst, points)
	case kindInt:
		for i := range points {
			n := points[i].Value.Int()
			dst = binary.AppendVarint(dst, n-e.whole) // wraps round, and so does adding it again
			e.whole = n
		}
	case kindFloat:
		return e.appendFloats(dst, points)
	case kindString, kindBytes:
		which := kind - kindString
		for i := range points {
			text := points[i].Value.Text()
			if e.any[which] && text == e.text[which] {
				dst = append(dst, 0)
				continue
			}
			e.text[which], e.any[which] = text, true
			dst = binary.AppendUvarint(dst, uint64(len(text))+1)
			dst = append(dst, text...)
		}
	}
	return dst
}

func appendBools(dst []byte, points []Point) []byte {
	var b byte
	for i := range points {
		if points[i].Value.Bool() {
			b |= 1 << (i & 7)
		}
		if i&7 == 7 || i == len(points)-1 {
			dst = append(dst, b)
			b = 0
		}
	}
	return dst
}

// appendFloats writes for each value a byte with the number of low zero bytes (high half) and of
// bytes that follow (low half) of its difference from its predecessor; 0 stands for a run of equal
// values and is followed by how many more there are.
func (e *encoder) appendFloats(dst []byte, points []Point) []byte {
	for i := 0; i < len(points); {
		now := floatBits(&points[i])
		diff := now ^ e.float
		e.float = now
		i++
		if diff == 0 {
			same := 0
			for i < len(points) && floatBits(&points[i]) == now {
				same++
				i++
			}
			dst = append(dst, 0)
			dst = binary.AppendUvarint(dst, uint64(same))
			continue
		}
		low := bits.TrailingZeros64(diff) >> 3
		n := 8 - low - bits.LeadingZeros64(diff)>>3
		dst = append(dst, byte(low<<4|n))
		var buf [8]byte
		binary.LittleEndian.PutUint64(buf[:], diff>>(low*8))
		dst = append(dst, buf[:n]...)
	}
	return dst
}

func floatBits(p *Point) uint64 {
	f, _ := p.Value.Float()
	return math.Float64bits(f)
}

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrDamaged, what) }

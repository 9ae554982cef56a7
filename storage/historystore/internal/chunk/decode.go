package chunk

import (
	"encoding/binary"
	"math"

	"github.com/otkit/otkit/tags"
)

// Decode adds the points of a block to dst. base is what Append was given. What is no block is an
// ErrDamaged; dst then has no more points than before.
func Decode(dst []Point, base int64, block []byte) ([]Point, error) {
	r := reader{rest: block}
	count := r.uvarint()
	if r.bad || count == 0 || count > MaxPoints {
		return dst, damaged("number of points")
	}
	before := len(dst)
	dst = grow(dst, int(count))
	points := dst[before:]
	switch {
	case !r.times(base, points):
		return dst[:before], damaged("times")
	case !r.qualities(points):
		return dst[:before], damaged("qualities")
	case !r.values(points):
		return dst[:before], damaged("values")
	case len(r.rest) != 0:
		return dst[:before], damaged("bytes after the end")
	}
	return dst, nil
}

// grow returns dst with n more points. Their old contents are of no matter: each is written in full.
func grow(dst []Point, n int) []Point {
	if need := len(dst) + n; need <= cap(dst) {
		return dst[:need]
	}
	return append(dst, make([]Point, n)...)
}

// reader takes a block apart. bad is set when something is missing or wrong.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.bad = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) octet() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// run reads the length of a run that must fit in what is left.
func (r *reader) run(left int) int {
	n := r.uvarint()
	if n > uint64(left) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *reader) times(base int64, points []Point) bool {
	now, interval := base+r.varint(), int64(0)
	points[0].Micros = now
	for i := 1; i < len(points) && !r.bad; {
		change := r.varint()
		interval += change
		now += interval
		points[i].Micros = now
		i++
		if change != 0 {
			continue
		}
		for same := r.run(len(points) - i); same > 0; same-- {
			now += interval
			points[i].Micros = now
			i++
		}
	}
	for i := 1; i < len(points) && !r.bad; i++ {
		r.bad = points[i].Micros <= points[i-1].Micros
	}
	return !r.bad
}

func (r *reader) qualities(points []Point) bool {
	for i := 0; i < len(points); {
		v := r.uvarint()
		n := r.run(len(points) - i)
		if r.bad || n == 0 || v > math.MaxUint8<<2|3 {
			return false
		}
		for end := i + n; i < end; i++ {
			points[i].Quality, points[i].Reason = tags.Quality(v&3), tags.Reason(v>>2)
		}
	}
	return true
}

// decoder remembers the last value of each kind.
type decoder struct {
	float uint64
	whole int64
	last  [2]tags.Value // of strings and of bytes
	any   [2]bool
}

func (r *reader) values(points []Point) bool {
	var d decoder
	for i := 0; i < len(points); {
		kind := r.octet()
		n := r.run(len(points) - i)
		if r.bad || n == 0 {
			return false
		}
		some := points[i : i+n]
		switch kind {
		case kindNone:
			for j := range some {
				some[j].Value = tags.Value{}
			}
		case kindBool:
			r.bools(some)
		case kindInt:
			for j := range some {
				d.whole += r.varint()
				some[j].Value = tags.IntValue(d.whole)
			}
		case kindFloat:
			d.floats(r, some)
		case kindString, kindBytes:
			d.texts(r, kind, some)
		default:
			return false
		}
		if r.bad {
			return false
		}
		i += n
	}
	return true
}

func (r *reader) bools(points []Point) {
	packed := r.take((len(points) + 7) / 8)
	if r.bad {
		return
	}
	for i := range points {
		points[i].Value = tags.BoolValue(packed[i>>3]>>(i&7)&1 != 0)
	}
}

func (d *decoder) floats(r *reader, points []Point) {
	for i := 0; i < len(points) && !r.bad; {
		head := r.octet()
		if head != 0 {
			low, n := int(head>>4), int(head&15)
			if low+n > 8 || n == 0 {
				r.bad = true
				return
			}
			var diff uint64
			if len(r.rest) >= 8 {
				diff = binary.LittleEndian.Uint64(r.rest) & (math.MaxUint64 >> (64 - 8*n))
				r.rest = r.rest[n:]
			} else {
				for j, b := range r.take(n) {
					diff |= uint64(b) << (8 * j)
				}
			}
			d.float ^= diff << (low * 8)
		}
		v := tags.FloatValue(math.Float64frombits(d.float))
		points[i].Value = v
		i++
		if head == 0 {
			for same := r.run(len(points) - i); same > 0; same-- {
				points[i].Value = v
				i++
			}
		}
	}
}

func (d *decoder) texts(r *reader, kind byte, points []Point) {
	which := kind - kindString
	for i := range points {
		n := r.uvarint()
		switch {
		case r.bad, n == 0 && !d.any[which], n > uint64(len(r.rest))+1:
			r.bad = true
			return
		case n > 0 && kind == kindString:
			d.last[which], d.any[which] = tags.StringValue(string(r.take(int(n-1)))), true
		case n > 0:
			d.last[which], d.any[which] = tags.BytesValue(r.take(int(n-1))), true
		}
		points[i].Value = d.last[which]
	}
}

package mirror

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/otkit/otkit/tags"
)

// A message is its version, the id of the engine, and blocks. A block is the id of a driver, the epoch and number of the message for it, flags and the time to
// which those of its samples are relative, in ns since 1970; then its samples, each beginning with the byte 1, and the byte 0. A block with flagStatus has
// a tags.DriverStatus as JSON in their place. Numbers are varints of encoding/binary, texts and bytes have their length in front.

const version = 1

type blockFlags byte

const (
	flagFirst  blockFlags = 1 << iota // first of the blocks with all samples; empty
	flagPart                          // of these
	flagLast                          // of these; empty
	flagStatus                        // a report on the driver
)

const (
	endOfBlock = 0
	nextSample = 1
)

// The flags of a sample: its quality in the lowest two bits, and these.
const (
	maskQuality  = 3
	flagDegraded = 1 << 2
	flagNoSource = 1 << 3 // SourceTime is zero
	flagNoServer = 1 << 4 // ServerTime is zero
)

// The kinds of values.
const (
	kindNone = iota
	kindFalse
	kindTrue
	kindInt
	kindFloat
	kindString
	kindBytes
)

type block struct {
	driver     string
	epoch, seq uint64
	flags      blockFlags
	base       int64
}

func appendBytes[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendHeader(b []byte, engine string) []byte { return appendBytes(append(b, version), engine) }

func (k *block) appendTo(b []byte) []byte {
	b = appendBytes(b, k.driver)
	b = binary.AppendUvarint(b, k.epoch)
	b = binary.AppendUvarint(b, k.seq)
	b = append(b, byte(k.flags))
	return binary.AppendVarint(b, k.base)
}

// sampleSize returns how many bytes a sample takes at most.
func sampleSize(s *tags.RemoteSample) int {
	return len(s.Tag) + len(s.Value.Text()) + 64 // Text is that of Bytes, too
}

func appendSample(b []byte, s *tags.RemoteSample, base int64) []byte {
	flags := byte(s.Quality) & maskQuality
	if s.Degraded {
		flags |= flagDegraded
	}
	if s.SourceTime.IsZero() {
		flags |= flagNoSource
	}
	if s.ServerTime.IsZero() {
		flags |= flagNoServer
	}
	b = appendBytes(append(b, nextSample), s.Tag)
	b = append(b, flags, byte(s.Reason))
	if flags&flagNoSource == 0 {
		b = binary.AppendVarint(b, s.SourceTime.UnixNano()-base)
	}
	if flags&flagNoServer == 0 {
		b = binary.AppendVarint(b, s.ServerTime.UnixNano()-base)
	}
	return appendValue(b, s.Value)
}

func appendValue(b []byte, v tags.Value) []byte {
	switch v.Type() {
	case tags.Bool:
		if v.Bool() {
			return append(b, kindTrue)
		}
		return append(b, kindFalse)
	case tags.Int:
		return binary.AppendVarint(append(b, kindInt), v.Int())
	case tags.Float:
		f, _ := v.Float()
		return binary.LittleEndian.AppendUint64(append(b, kindFloat), math.Float64bits(f))
	case tags.String:
		return appendBytes(append(b, kindString), v.Text())
	case tags.Bytes:
		return appendBytes(append(b, kindBytes), v.Text())
	}
	return append(b, kindNone)
}

// reader reads a message. After an error it returns zero values.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if r.bad || len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	return number(r, n, size)
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	return number(r, n, size)
}

func number[T int64 | uint64](r *reader, n T, size int) T {
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	text := r.b[:n]
	r.b = r.b[n:]
	return text
}

func (r *reader) value() tags.Value {
	switch r.byte() {
	case kindNone:
		return tags.Value{}
	case kindFalse:
		return tags.BoolValue(false)
	case kindTrue:
		return tags.BoolValue(true)
	case kindInt:
		return tags.IntValue(r.varint())
	case kindFloat:
		if !r.bad && len(r.b) >= 8 {
			f := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
			r.b = r.b[8:]
			return tags.FloatValue(f)
		}
	case kindString:
		return tags.StringValue(string(r.bytes()))
	case kindBytes:
		return tags.BytesValue(r.bytes())
	}
	r.bad = true
	return tags.Value{}
}

// sample reads a sample without its tag.
func (r *reader) sample(base int64) (s tags.RemoteSample) {
	flags := r.byte()
	s.Quality, s.Reason, s.Degraded = tags.Quality(flags&maskQuality), tags.Reason(r.byte()), flags&flagDegraded != 0
	if s.Quality > tags.Good {
		r.bad = true
	}
	if flags&flagNoSource == 0 {
		s.SourceTime = time.Unix(0, base+r.varint()).UTC()
	}
	if flags&flagNoServer == 0 {
		s.ServerTime = time.Unix(0, base+r.varint()).UTC()
	}
	s.Value = r.value()
	return s
}

func (r *reader) block() (k block) {
	k.driver = string(r.bytes())
	k.epoch, k.seq = r.uvarint(), r.uvarint()
	k.flags = blockFlags(r.byte())
	k.base = r.varint()
	return k
}

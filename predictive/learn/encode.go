package learn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// ErrModel is wrapped by errors of UnmarshalBinary about bytes that are not a model of the type: damaged, cut, of another
// type or of a later version. The receiver is then unchanged.
//
// A model is written as the letters "OTKL", a byte for its type, a byte for the version of its layout, its content and the
// CRC-32C of all before, little-endian. Counts are varints and numbers are IEEE 754.
var ErrModel = errors.New("learn: not a usable model")

// kind is the type of a written model. Values must not change.
type kind uint8

const (
	kindBoost      kind = 1
	kindRidge      kind = 2
	kindIsotonic   kind = 3
	kindPlatt      kind = 4
	kindConformal  kind = 5
	kindConditions kind = 6
	kindPCA        kind = 16
	kindMonitor    kind = 17
	kindDetector   kind = 18
	kindSeason     kind = 19
	kindHistogram  kind = 20
)

const (
	magic      = "OTKL"
	headLength = len(magic) + 2
	sumLength  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encoder appends the content of a model.
type encoder struct{ data []byte }

// newEncoder returns an encoder that has written the head.
func newEncoder(k kind, version uint8) *encoder {
	return &encoder{append([]byte(magic), byte(k), version)}
}

func (e *encoder) byte(v uint8) { e.data = append(e.data, v) }
func (e *encoder) count(v int)  { e.data = binary.AppendUvarint(e.data, uint64(v)) }
func (e *encoder) float32(v float32) {
	e.data = binary.LittleEndian.AppendUint32(e.data, math.Float32bits(v))
}
func (e *encoder) int64(v int64) {
	e.data = binary.LittleEndian.AppendUint64(e.data, uint64(v))
}
func (e *encoder) float(v float64) {
	e.data = binary.LittleEndian.AppendUint64(e.data, math.Float64bits(v))
}
func (e *encoder) floats(v []float64) { // with their number
	e.count(len(v))
	for _, f := range v {
		e.float(f)
	}
}

// bytes returns all that was written, with the checksum.
func (e *encoder) bytes() []byte {
	return binary.LittleEndian.AppendUint32(e.data, crc32.Checksum(e.data, castagnoli))
}

// decoder reads the content of a model. After the first error it returns zeros. It allocates no more than a small multiple of
// the length of the data, whatever that says.
type decoder struct {
	data []byte
	err  error
}

// newDecoder checks the head and the checksum. version is the latest that the caller reads.
func newDecoder(data []byte, k kind, version uint8) *decoder {
	d := &decoder{}
	switch {
	case len(data) < headLength+sumLength || string(data[:len(magic)]) != magic:
		d.fail("the bytes do not begin as a model")
	case crc32.Checksum(data[:len(data)-sumLength], castagnoli) != binary.LittleEndian.Uint32(data[len(data)-sumLength:]):
		d.fail("the checksum is wrong")
	case data[len(magic)] != byte(k):
		d.fail("the model has type %d, not %d", data[len(magic)], k)
	case data[len(magic)+1] == 0 || data[len(magic)+1] > version:
		d.fail("the model has version %d; versions 1 to %d can be read", data[len(magic)+1], version)
	default:
		d.data = data[headLength : len(data)-sumLength]
	}
	return d
}

// fail keeps the first error and drops the rest of the data.
func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrModel, fmt.Sprintf(format, args...))
	}
	d.data = nil
}

// take returns the next n bytes, or zeros if there are fewer. n is at most 8.
func (d *decoder) take(n int) []byte {
	if len(d.data) < n {
		d.fail("the content is cut")
		return make([]byte, n)
	}
	part := d.data[:n]
	d.data = d.data[n:]
	return part
}

func (d *decoder) byte() uint8 { return d.take(1)[0] }
func (d *decoder) float32() float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(d.take(4)))
}
func (d *decoder) int64() int64 { return int64(binary.LittleEndian.Uint64(d.take(8))) }

// float returns the next number, which must not be NaN.
func (d *decoder) float() float64 {
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.take(8)))
	if math.IsNaN(v) {
		d.fail("a number is NaN")
	}
	return v
}

// finite returns the next number, which must be finite.
func (d *decoder) finite() float64 {
	v := d.float()
	if !finite(v) {
		d.fail("a number is %v", v)
		return 0
	}
	return v
}

// count returns the next count, which must be at most limit. With size, its items have at least that many bytes each.
func (d *decoder) count(limit, size int) int {
	v, n := binary.Uvarint(d.data)
	if n <= 0 || v > uint64(limit) {
		d.fail("a count is not one up to %d", limit)
		return 0
	}
	if d.data = d.data[n:]; size > 0 && v > uint64(len(d.data)/size) {
		d.fail("a count is %d, but %d bytes are left", v, len(d.data))
		return 0
	}
	return int(v)
}

// finites returns finite numbers with their count, at most limit.
func (d *decoder) finites(limit int) []float64 {
	list := make([]float64, d.count(limit, 8))
	for i := range list {
		list[i] = d.finite()
	}
	return list
}

// end returns the first error, that of data left over included.
func (d *decoder) end() error {
	if d.err == nil && len(d.data) > 0 {
		d.fail("%d bytes are left over", len(d.data))
	}
	return d.err
}

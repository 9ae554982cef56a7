package modbus

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/tags"
)

// arrange turns registers from the order of the device to that of the protocol, or back: each order
// is its own inverse.
func arrange(raw []byte, o Order, words bool) {
	if o.swapsBytes() {
		for i := 0; i+1 < len(raw); i += 2 {
			raw[i], raw[i+1] = raw[i+1], raw[i]
		}
	}
	if words && o.lowWordFirst() {
		for i, j := 0, len(raw)-2; i < j; i, j = i+2, j-2 {
			raw[i], raw[j] = raw[j], raw[i]
			raw[i+1], raw[j+1] = raw[j+1], raw[i+1]
		}
	}
}

// decode returns the value of a register point from the bytes of its registers.
func (p *point) decode(registers []byte) (tags.Value, error) {
	if p.native == nativeString {
		return p.decodeText(registers)
	}
	var b [8]byte
	raw := b[:copy(b[:], registers)]
	arrange(raw, p.order, true)
	switch p.native {
	case nativeBool:
		return tags.BoolValue(binary.BigEndian.Uint16(raw)>>p.bit&1 == 1), nil
	case nativeInt16:
		return p.whole(int64(int16(binary.BigEndian.Uint16(raw)))), nil
	case nativeUInt16:
		return p.whole(int64(binary.BigEndian.Uint16(raw))), nil
	case nativeInt32:
		return p.whole(int64(int32(binary.BigEndian.Uint32(raw)))), nil
	case nativeUInt32:
		return p.whole(int64(binary.BigEndian.Uint32(raw))), nil
	case nativeInt64:
		return p.whole(int64(binary.BigEndian.Uint64(raw))), nil
	case nativeUInt64:
		return p.unsigned(binary.BigEndian.Uint64(raw))
	case nativeFloat32:
		return p.fraction(float64(math.Float32frombits(binary.BigEndian.Uint32(raw))))
	default:
		return p.fraction(math.Float64frombits(binary.BigEndian.Uint64(raw)))
	}
}

func (p *point) whole(n int64) tags.Value {
	if p.as == tags.Float {
		return tags.FloatValue(float64(n))
	}
	return tags.IntValue(n)
}

func (p *point) unsigned(n uint64) (tags.Value, error) {
	if p.as == tags.Float {
		return tags.FloatValue(float64(n)), nil
	}
	if n > math.MaxInt64 {
		return tags.Value{}, fmt.Errorf("%w: %d is above the largest Int", tags.ErrType, n)
	}
	return tags.IntValue(int64(n)), nil
}

func (p *point) fraction(f float64) (tags.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return tags.Value{}, fmt.Errorf("%w: %g is not a finite number", tags.ErrType, f)
	}
	if p.as == tags.Float {
		return tags.FloatValue(f), nil
	}
	n := math.Round(f)
	if n < -1<<63 || n >= 1<<63 {
		return tags.Value{}, fmt.Errorf("%w: %g is outside the range of an Int", tags.ErrType, f)
	}
	return tags.IntValue(int64(n)), nil
}

func (p *point) decodeText(registers []byte) (tags.Value, error) {
	text := registers
	if p.order.swapsBytes() {
		text = slices.Clone(registers)
		arrange(text, p.order, false)
	}
	text = text[:p.size]
	if p.as == tags.Bytes {
		return tags.BytesValue(text), nil
	}
	s, _, _ := strings.Cut(string(text), "\x00")
	if !utf8.ValidString(s) {
		return tags.Value{}, fmt.Errorf("%w: the text is not UTF-8", tags.ErrType)
	}
	return tags.StringValue(s), nil
}

// encode returns the bytes of a register point's registers for a value of the tag's type. Single bits
// have no bytes of their own. The error is a tags.ErrInvalidValue.
func (p *point) encode(v tags.Value) ([]byte, error) {
	if p.native == nativeString {
		return p.encodeText(v.Text())
	}
	raw := make([]byte, 0, 8)
	switch p.native {
	case nativeFloat32:
		f, err := p.floatOf(v, 24, math.MaxFloat32)
		if err != nil {
			return nil, err
		}
		raw = binary.BigEndian.AppendUint32(raw, math.Float32bits(float32(f)))
	case nativeFloat64:
		f, err := p.floatOf(v, 53, math.MaxFloat64)
		if err != nil {
			return nil, err
		}
		raw = binary.BigEndian.AppendUint64(raw, math.Float64bits(f))
	default:
		n, err := p.integerOf(v)
		if err != nil {
			return nil, err
		}
		whole := binary.BigEndian.AppendUint64(raw, uint64(n))
		raw = whole[len(whole)-2*int(p.count):]
	}
	arrange(raw, p.order, true)
	return raw, nil
}

// integerRanges has the least and the most of each integer type. A UInt64 above the largest Int
// cannot be asked for, as values have 64 bits with a sign.
var integerRanges = [...][2]int64{
	nativeInt16:  {math.MinInt16, math.MaxInt16},
	nativeUInt16: {0, math.MaxUint16},
	nativeInt32:  {math.MinInt32, math.MaxInt32},
	nativeUInt32: {0, math.MaxUint32},
	nativeInt64:  {math.MinInt64, math.MaxInt64},
	nativeUInt64: {0, math.MaxInt64},
}

func (p *point) integerOf(v tags.Value) (int64, error) {
	limits := integerRanges[p.native]
	if v.Type() == tags.Int {
		if n := v.Int(); n >= limits[0] && n <= limits[1] {
			return n, nil
		}
	} else {
		f, _ := v.Float()
		f = math.Round(f)
		// 1<<63 itself is a float64, MaxInt64 is not: hence below, not at most.
		if f >= float64(limits[0]) && f <= float64(limits[1]) && f < 1<<63 {
			return int64(f), nil
		}
	}
	return 0, tags.ErrInvalidValue.Because("%s is outside the range %d to %d of %s", v, limits[0], limits[1], p.native)
}

func (p *point) floatOf(v tags.Value, mantissa int, most float64) (float64, error) {
	f, _ := v.Float()
	if v.Type() == tags.Int && !exact(v.Int(), mantissa) {
		return 0, tags.ErrInvalidValue.Because("%d cannot be held exactly by a %s", v.Int(), p.native)
	}
	if math.Abs(f) > most {
		return 0, tags.ErrInvalidValue.Because("%g is outside the range of %s", f, p.native)
	}
	return f, nil
}

// exact reports whether a float with so many bits of mantissa holds n without loss.
func exact(n int64, bits int) bool {
	if n == math.MinInt64 {
		return true
	}
	if n < 0 {
		n = -n
	}
	for n != 0 && n&1 == 0 {
		n >>= 1
	}
	return n < 1<<bits
}

func (p *point) encodeText(text string) ([]byte, error) {
	switch {
	case p.as == tags.Bytes && len(text) != p.size:
		return nil, tags.ErrInvalidValue.Because("%d bytes are given, the device keeps %d", len(text), p.size)
	case len(text) > p.size:
		return nil, tags.ErrInvalidValue.Because("the text has %d bytes, the device keeps %d", len(text), p.size)
	case p.as == tags.String && strings.ContainsRune(text, 0):
		return nil, tags.ErrInvalidValue.Because("the text has a zero byte, which would end it")
	}
	raw := make([]byte, 2*int(p.count))
	copy(raw, text)
	arrange(raw, p.order, false)
	return raw, nil
}

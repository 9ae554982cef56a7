package modbus

import (
	"fmt"
	"strings"

	"github.com/otkit/otkit/tags"
)

// Order is the order in which a device sends the bytes of a value, A being the most significant one.
// The zero Order counts as ABCD.
type Order string

// The four orders that devices use.
const (
	ABCD Order = "ABCD" // big endian, the order of the protocol
	CDAB Order = "CDAB" // low word first
	BADC Order = "BADC" // bytes of each register swapped
	DCBA Order = "DCBA" // little endian: low word first and bytes swapped
)

func parseOrder(s string) (Order, error) {
	switch o := Order(strings.ToUpper(s)); o {
	case ABCD, CDAB, BADC, DCBA:
		return o, nil
	}
	return "", fmt.Errorf("byte order %.12q is not ABCD, CDAB, BADC or DCBA", s)
}

func (o Order) swapsBytes() bool   { return o == BADC || o == DCBA }
func (o Order) lowWordFirst() bool { return o == CDAB || o == DCBA }

// native is the device's own type of a value.
type native uint8

const (
	nativeBool native = iota
	nativeInt16
	nativeUInt16
	nativeInt32
	nativeUInt32
	nativeInt64
	nativeUInt64
	nativeFloat32
	nativeFloat64
	nativeString
)

var natives = [...]struct {
	name      string
	registers int
}{
	{"Bool", 1},
	{"Int16", 1}, {"UInt16", 1}, {"Int32", 2}, {"UInt32", 2}, {"Int64", 4}, {"UInt64", 4},
	{"Float32", 2}, {"Float64", 4},
	{"String", 0},
}

func (n native) String() string { return natives[n].name }

// number holds for everything but bits and text.
func (n native) number() bool { return n != nativeBool && n != nativeString }

// stored is a native type with what belongs to it.
type stored struct {
	native native
	size   int // bytes of a String
	order  Order
}

// parseNative reads Point.Native; see the package comment. An empty text takes what fits the tag.
func parseNative(s string, t tags.DataType, order Order) (stored, error) {
	name, suffix, hasOrder := strings.Cut(s, ";")
	st := stored{order: order}
	if hasOrder {
		var err error
		if st.order, err = parseOrder(suffix); err != nil {
			return st, err
		}
	}
	if name == "" {
		switch t {
		case tags.Bool:
			st.native = nativeBool
		case tags.Int:
			st.native = nativeInt16
		case tags.Float:
			st.native = nativeFloat32
		default:
			return st, fmt.Errorf("a %s needs a native type with its length in bytes, such as String:16", t)
		}
		return st, nil
	}
	name, length, hasLength := strings.Cut(name, ":")
	for n := range natives {
		if !strings.EqualFold(name, natives[n].name) {
			continue
		}
		st.native = native(n)
		if hasLength != (st.native == nativeString) {
			return st, fmt.Errorf("a length in bytes is for String, and String needs it, such as String:16")
		}
		if hasLength {
			size, err := parseDecimal(length, 2*maxReadRegisters)
			if err != nil || size == 0 {
				return st, fmt.Errorf("length %.12q is not 1 to %d bytes", length, 2*maxReadRegisters)
			}
			st.size = size
		}
		return st, nil
	}
	return st, fmt.Errorf("native type %.16q is not known: write Bool, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64 or String:n", name)
}

// fits reports whether a tag of type t can hold the native type.
func (st stored) fits(t tags.DataType) bool {
	switch t {
	case tags.Bool:
		return st.native == nativeBool
	case tags.Int, tags.Float:
		return st.native.number()
	case tags.String, tags.Bytes:
		return st.native == nativeString
	}
	return false
}

// point is a tags.Point, understood.
type point struct {
	address
	stored
	as    tags.DataType
	count uint16 // registers, or 1 bit
}

// parsePoint understands a point. The error is a tags.ErrAddress.
func (d *Driver) parsePoint(p tags.Point) (point, error) {
	fail := func(what string, format string, args ...any) (point, error) {
		return point{}, fmt.Errorf("%w: %s: %s", tags.ErrAddress, what, fmt.Sprintf(format, args...))
	}
	a, err := parseAddress(p.Address, d.options.UnitID)
	if err != nil {
		return fail(fmt.Sprintf("address %.40q", p.Address), "%s", err)
	}
	if a.unit == 0 && d.options.Protocol.serial() {
		return fail("unit 0", "is the broadcast of a serial line, which nobody answers")
	}
	unit := d.options.unit(a.unit)
	st, err := parseNative(p.NativeType, p.Type, unit.Order)
	if err != nil {
		return fail("native type", "%s", err)
	}
	if !st.fits(p.Type) {
		return fail("native type", "a %s tag cannot hold a %s", p.Type, st.native)
	}
	single := a.table.bits() || a.bit != noBit
	switch {
	case single && st.native != nativeBool:
		return fail("native type", "a single bit is a Bool")
	case !single && st.native == nativeBool:
		return fail("address", "a Bool of a register needs a bit, as in HR:0.5")
	}
	count := natives[st.native].registers
	if st.native == nativeString {
		count = (st.size + 1) / 2
	}
	if count > unit.MaxRegisters {
		return fail("native type", "a %s has %d registers, and one request reads at most %d", st.native, count, unit.MaxRegisters)
	}
	if int(a.start)+count > tableSize {
		return fail("address", "a %s that starts here ends beyond the table", st.native)
	}
	return point{address: a, stored: st, as: p.Type, count: uint16(count)}, nil
}

package tags

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/otkit/otkit/internal/runes"
)

// DataType is the type of a tag's value.
type DataType string

// The data types of the API.
const (
	Bool   DataType = "Bool"
	Int    DataType = "Int"    // 64-bit signed
	Float  DataType = "Float"  // 64-bit, never NaN or infinite
	String DataType = "String" // UTF-8
	Bytes  DataType = "Bytes"
)

// DataTypes lists the data types.
func DataTypes() []DataType { return []DataType{Bool, Int, Float, String, Bytes} }

// Valid reports whether t is one of the data types.
func (t DataType) Valid() bool { return kindOf(t) != kindNone }

type valueKind uint8

const (
	kindNone valueKind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindBytes
)

var kindTypes = [...]DataType{"", Bool, Int, Float, String, Bytes}

func kindOf(t DataType) valueKind {
	switch t {
	case Bool:
		return kindBool
	case Int:
		return kindInt
	case Float:
		return kindFloat
	case String:
		return kindString
	case Bytes:
		return kindBytes
	}
	return kindNone
}

// Value is one value of one of the data types, or nothing (the zero Value). It is immutable,
// comparable with == and cheap to copy.
type Value struct {
	kind valueKind
	num  uint64 // bool, int64 or the bits of a float64
	text string // String and Bytes
}

// BoolValue makes a Bool.
func BoolValue(v bool) Value {
	if v {
		return Value{kind: kindBool, num: 1}
	}
	return Value{kind: kindBool}
}

// IntValue makes an Int.
func IntValue(v int64) Value { return Value{kind: kindInt, num: uint64(v)} }

// FloatValue makes a Float. NaN and the infinities are no values: they give the zero Value, which
// the engine reports as Bad with reason TypeMismatch.
func FloatValue(v float64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Value{}
	}
	return Value{kind: kindFloat, num: math.Float64bits(v)}
}

// StringValue makes a String. Bytes that are no UTF-8, which devices do send, become U+FFFD.
func StringValue(v string) Value {
	return Value{kind: kindString, text: strings.ToValidUTF8(v, "\uFFFD")}
}

// BytesValue makes a Bytes from a copy of v.
func BytesValue(v []byte) Value { return Value{kind: kindBytes, text: string(v)} }

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v.kind == kindNone }

// Type returns the data type, empty for the zero Value.
func (v Value) Type() DataType { return kindTypes[v.kind] }

// Bool returns a Bool's value; false for any other type.
func (v Value) Bool() bool { return v.kind == kindBool && v.num != 0 }

// Int returns an Int's value; 0 for any other type.
func (v Value) Int() int64 {
	if v.kind != kindInt {
		return 0
	}
	return int64(v.num)
}

// Text returns the text of a String or the bytes of Bytes; "" for any other type. For the text of any value use String.
func (v Value) Text() string { return v.text }

// Bytes returns a copy of a Bytes' bytes; nil for any other type.
func (v Value) Bytes() []byte {
	if v.kind != kindBytes {
		return nil
	}
	return []byte(v.text)
}

// Float returns the number that a Bool (0 or 1), an Int or a Float stands for, and whether it stands
// for one. An Int beyond 2^53 loses its last digits.
func (v Value) Float() (float64, bool) {
	switch v.kind {
	case kindBool:
		return float64(v.num), true
	case kindInt:
		return float64(int64(v.num)), true
	case kindFloat:
		return math.Float64frombits(v.num), true
	}
	return 0, false
}

// String returns the value in the form that ParseValue reads; "" for the zero Value.
func (v Value) String() string {
	switch v.kind {
	case kindBool:
		return strconv.FormatBool(v.num != 0)
	case kindInt:
		return strconv.FormatInt(int64(v.num), 10)
	case kindFloat:
		return strconv.FormatFloat(math.Float64frombits(v.num), 'g', -1, 64)
	case kindBytes:
		return base64.StdEncoding.EncodeToString([]byte(v.text))
	}
	return v.text
}

// ParseValue reads the text of a value of type t: a Bool as true or false (also 1, 0), an Int in
// decimal, a Float in decimal or scientific form, a String as it stands, Bytes in base64. The error
// is an ErrInvalidValue.
func ParseValue(t DataType, s string) (Value, error) {
	switch t {
	case Bool:
		switch s {
		case "true", "True", "TRUE", "1":
			return BoolValue(true), nil
		case "false", "False", "FALSE", "0":
			return BoolValue(false), nil
		}
		return Value{}, ErrInvalidValue.Because("%q is not true or false", clip(s))
	case Int:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return Value{}, ErrInvalidValue.Because("%q is not a whole number of 64 bits", clip(s))
		}
		return IntValue(n), nil
	case Float:
		f, err := strconv.ParseFloat(s, 64)
		// ParseFloat reads hexadecimal too.
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(s, "xX_") {
			return Value{}, ErrInvalidValue.Because("%q is not a finite number", clip(s))
		}
		return FloatValue(f), nil
	case String:
		return StringValue(s), nil
	case Bytes:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return Value{}, ErrInvalidValue.Because("the text is not base64")
		}
		return BytesValue(b), nil
	}
	return Value{}, ErrInvalidValue.Because("data type %q is not known", string(t))
}

// Convert returns v as a value of type t where that loses nothing: an Int and a whole Float become
// each other, any type becomes itself. Everything else is an ErrInvalidValue.
func (v Value) Convert(t DataType) (Value, error) {
	if v.Type() == t {
		return v, nil
	}
	switch {
	case v.kind == kindInt && t == Float:
		if n := v.Int(); -1<<53 <= n && n <= 1<<53 {
			return FloatValue(float64(n)), nil
		}
	case v.kind == kindFloat && t == Int:
		f := math.Float64frombits(v.num)
		if f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
			return IntValue(int64(f)), nil
		}
	}
	return Value{}, ErrInvalidValue.Because("a %s does not fit a tag of type %s", orNothing(v.Type()), t)
}

func orNothing(t DataType) string {
	if t == "" {
		return "missing value"
	}
	return string(t)
}

// clip makes a caller's text fit to be sent back in an error. A text that could be a name stays whole,
// because clients look for it.
func clip(s string) string {
	if len(s) <= MaxNameBytes {
		return runes.Valid(s)
	}
	return fmt.Sprintf("%s (%d bytes)", runes.Shorten(s, 64), len(s))
}

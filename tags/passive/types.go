package passive

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/tags"
)

// valueType is the type of a tag.
type valueType struct {
	data     tags.DataType
	min, max int64 // of an Int
	single   bool  // a Float of 32 bits
	bytes    int   // longest String or Bytes
}

const maxBytes = 65_536 // of a String or Bytes

var valueTypes = map[string]valueType{
	"bool":    {data: tags.Bool},
	"int":     {data: tags.Int, min: math.MinInt64, max: math.MaxInt64},
	"int16":   {data: tags.Int, min: math.MinInt16, max: math.MaxInt16},
	"uint16":  {data: tags.Int, max: math.MaxUint16},
	"int32":   {data: tags.Int, min: math.MinInt32, max: math.MaxInt32},
	"uint32":  {data: tags.Int, max: math.MaxUint32},
	"int64":   {data: tags.Int, min: math.MinInt64, max: math.MaxInt64},
	"uint64":  {data: tags.Int, max: math.MaxInt64}, // a tag holds no more
	"float":   {data: tags.Float},
	"float32": {data: tags.Float, single: true},
	"float64": {data: tags.Float},
	"string":  {data: tags.String, bytes: maxBytes},
	"bytes":   {data: tags.Bytes, bytes: maxBytes},
}

func parseType(s string) (valueType, error) {
	name, length, limited := strings.Cut(strings.ToLower(s), ":")
	t, known := valueTypes[name]
	switch {
	case s == "":
		return t, errors.New("is required")
	case !known:
		return t, fmt.Errorf("%.20q is not Bool, Int, Float, String, Bytes, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float32, Float64 or String:n", s)
	case !limited:
		return t, nil
	case t.bytes == 0:
		return t, errors.New("a length is for String and Bytes")
	}
	n, err := strconv.ParseUint(length, 10, 32)
	if err != nil || n == 0 || n > maxBytes {
		return t, fmt.Errorf("length %.12q is not 1 to %d bytes", length, maxBytes)
	}
	t.bytes = int(n)
	return t, nil
}

// value makes a value of what a sender gave.
func (t valueType) value(from any) (tags.Value, error) {
	v, err := t.convert(from)
	if err != nil {
		return v, err
	}
	switch t.data {
	case tags.Int:
		if n := v.Int(); n < t.min || n > t.max {
			return v, fmt.Errorf("%d is not %d to %d", n, t.min, t.max)
		}
	case tags.Float:
		if f, _ := v.Float(); t.single && math.Abs(f) > math.MaxFloat32 {
			return v, fmt.Errorf("%g is beyond what 32 bits hold", f)
		}
	case tags.String, tags.Bytes:
		if n := len(v.Text()); n > t.bytes {
			return v, fmt.Errorf("has %d bytes; at most %d", n, t.bytes)
		}
	}
	return v, nil
}

func (t valueType) convert(from any) (tags.Value, error) {
	switch x := from.(type) {
	case nil:
		return tags.Value{}, errors.New("is required")
	case tags.Value:
		if v, err := x.Convert(t.data); err == nil {
			return v, nil
		}
		return tags.Value{}, t.unfit("a " + string(x.Type()))
	case json.Number:
		return t.number(string(x))
	case bool:
		if t.data == tags.Bool {
			return tags.BoolValue(x), nil
		}
	case int:
		return t.integer(int64(x))
	case int64:
		return t.integer(x)
	case float64:
		return t.float(x)
	case string:
		return t.text(x)
	case []byte:
		if t.data == tags.Bytes {
			return tags.BytesValue(x), nil
		}
	}
	return tags.Value{}, t.unfit(kindOf(from))
}

// number reads the text of a JSON number, of which an Int keeps every digit.
func (t valueType) number(s string) (tags.Value, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return t.integer(n)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return tags.Value{}, fmt.Errorf("%.40q is not a number of 64 bits", s)
	}
	return t.float(f)
}

func (t valueType) integer(n int64) (tags.Value, error) {
	switch t.data {
	case tags.Int:
		return tags.IntValue(n), nil
	case tags.Float:
		return tags.FloatValue(float64(n)), nil
	}
	return tags.Value{}, t.unfit("a number")
}

func (t valueType) float(f float64) (tags.Value, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return tags.Value{}, fmt.Errorf("%v is not a finite number", f)
	case t.data == tags.Float:
		return tags.FloatValue(f), nil
	case t.data != tags.Int:
		return tags.Value{}, t.unfit("a number")
	case f != math.Trunc(f) || f < math.MinInt64 || f >= math.MaxInt64:
		return tags.Value{}, fmt.Errorf("%g is not an integer of 64 bits", f)
	}
	return tags.IntValue(int64(f)), nil
}

func (t valueType) text(s string) (tags.Value, error) {
	switch t.data {
	case tags.String:
		if !utf8.ValidString(s) {
			return tags.Value{}, errors.New("is not valid UTF-8")
		}
		return tags.StringValue(s), nil
	case tags.Bytes:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return tags.Value{}, errors.New("must be a string in base64")
		}
		return tags.BytesValue(b), nil
	}
	return tags.Value{}, t.unfit("a string")
}

// inJSON is how senders write values.
var inJSON = map[tags.DataType]string{tags.Bool: "true or false", tags.Int: "an integer", tags.Float: "a number", tags.String: "a string",
	tags.Bytes: "a string in base64"}

func (t valueType) unfit(kind string) error {
	return fmt.Errorf("must be %s, not %s", inJSON[t.data], kind)
}

func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("a %T", v)
}

package tags

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// MarshalJSON writes the choice of the API: an object with exactly one of the members
// stringValue, doubleValue, int64Value, boolValue, bytesValue. The zero Value is null.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil) }

// AppendJSON appends what MarshalJSON writes.
func (v Value) AppendJSON(b []byte) ([]byte, error) {
	switch v.kind {
	case kindBool:
		return append(strconv.AppendBool(append(b, `{"boolValue":`...), v.num != 0), '}'), nil
	case kindInt:
		return append(strconv.AppendInt(append(b, `{"int64Value":`...), int64(v.num), 10), '}'), nil
	case kindFloat:
		return append(appendJSONFloat(append(b, `{"doubleValue":`...), math.Float64frombits(v.num)), '}'), nil
	case kindString:
		text, err := json.Marshal(v.text)
		if err != nil {
			return nil, err
		}
		return append(append(append(b, `{"stringValue":`...), text...), '}'), nil
	case kindBytes:
		b = append(b, `{"bytesValue":"`...)
		b = base64.StdEncoding.AppendEncode(b, []byte(v.text))
		return append(b, `"}`...), nil
	}
	return append(b, "null"...), nil
}

// appendJSONFloat writes a float as encoding/json does: shortest form, exponent only where it is
// needed.
func appendJSONFloat(b []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

// UnmarshalJSON reads the choice: exactly one known member. int64Value may be a number or a decimal
// string, as clients that follow protobuf's JSON form send it. null leaves the zero Value. The error
// is an ErrInvalidValue.
func (v *Value) UnmarshalJSON(data []byte) error {
	*v = Value{}
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return ErrInvalidValue.Because("a TagValue is an object with one member")
	}
	found := ""
	for name := range members {
		if _, known := valueReaders[name]; !known {
			continue // unknown members are ignored everywhere
		}
		if found != "" {
			return ErrInvalidValue.Because("a TagValue has exactly one member, this one has more")
		}
		found = name
	}
	if found == "" {
		return ErrInvalidValue.Because("a TagValue has exactly one of stringValue, doubleValue, int64Value, boolValue, bytesValue")
	}
	read, err := valueReaders[found](members[found])
	if err != nil {
		return err
	}
	*v = read
	return nil
}

var valueReaders = map[string]func(json.RawMessage) (Value, error){
	"stringValue": func(raw json.RawMessage) (Value, error) {
		s, ok := jsonString(raw)
		if !ok {
			return Value{}, ErrInvalidValue.Because("stringValue is not a string")
		}
		return StringValue(s), nil
	},
	"doubleValue": func(raw json.RawMessage) (Value, error) {
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || !isJSONNumber(raw) {
			return Value{}, ErrInvalidValue.Because("doubleValue is not a finite number")
		}
		return FloatValue(f), nil
	},
	"int64Value": func(raw json.RawMessage) (Value, error) {
		text, quoted := jsonString(raw)
		if !quoted {
			text = string(raw)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Value{}, ErrInvalidValue.Because("int64Value is not a whole number of 64 bits")
		}
		return IntValue(n), nil
	},
	"boolValue": func(raw json.RawMessage) (Value, error) {
		switch string(raw) {
		case "true":
			return BoolValue(true), nil
		case "false":
			return BoolValue(false), nil
		}
		return Value{}, ErrInvalidValue.Because("boolValue is not true or false")
	},
	"bytesValue": func(raw json.RawMessage) (Value, error) {
		s, ok := jsonString(raw)
		if !ok {
			return Value{}, ErrInvalidValue.Because("bytesValue is not a string")
		}
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return Value{}, ErrInvalidValue.Because("bytesValue is not base64")
		}
		return BytesValue(b), nil
	},
}

func jsonString(raw json.RawMessage) (string, bool) {
	// Unmarshal would put U+FFFD in the place of what is not UTF-8.
	if len(raw) == 0 || raw[0] != '"' || !utf8.Valid(raw) {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// isJSONNumber reports whether s is a number, not a string that ParseFloat would also read, such as "1".
func isJSONNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// Names are the names of tags in the member tagNames of a JSON document.
type Names []string

// UnmarshalJSON reads an array of strings. Anything else, a null among the names included, is an
// [ErrInvalidRequest] that names the place.
func (n *Names) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return ErrInvalidRequest.Invalid(fault.Field{Field: "tagNames", Message: "must be an array of strings"}).Wrap(err)
	}
	if bytes.Contains(data, []byte("null")) { // which is decoded as an empty name
		var exact []*string
		if err := json.Unmarshal(data, &exact); err != nil {
			return err
		}
		for i, name := range exact {
			if name == nil {
				return ErrInvalidRequest.Invalid(fault.Field{Field: fmt.Sprintf("tagNames[%d]", i), Message: "must be a string"})
			}
		}
	}
	*n = names
	return nil
}

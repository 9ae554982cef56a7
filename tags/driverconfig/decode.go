package driverconfig

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// Decode reads one JSON value into what into points to, strictly: member names are matched without
// regard to case; unknown members, members given twice, wrong types, invalid UTF-8 and text after the
// value are refused. The error is an ErrInvalid that names each bad member (at most 20 of them) by
// its path, which begins with the given one: Settings.Tags[3].Address.
//
// The rules that the tags of fields declare hold, too; see [Schema].
//
// Types are those of encoding/json with its field tags, except for the option ",string" and embedded
// pointers. What is absent or null keeps the value that it has, so that into can hold defaults. Empty
// raw counts as absent.
func Decode(raw json.RawMessage, into any, path string) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decoding %s: a pointer is needed, not %T", path, into)
	}
	switch {
	case len(raw) > 0:
	case target.Elem().Kind() == reflect.Struct:
		raw = json.RawMessage("{}") // some members may be required
	default:
		return nil
	}
	if err := checkSyntax(raw); err != nil {
		return ErrInvalid.Invalid(fault.Field{Field: orWhole(path), Message: err.Error()})
	}
	d := decoder{fields: make(map[reflect.Type]map[string]*member)}
	d.value(raw, target.Elem(), path)
	if len(d.bad) > 0 {
		return ErrInvalid.Invalid(d.bad...)
	}
	return nil
}

func checkSyntax(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("is not valid UTF-8")
	}
	var whole json.RawMessage
	err := json.Unmarshal(raw, &whole)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := raw[:max(0, min(int(syntax.Offset)-1, len(raw)))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Errorf("is not JSON at line %d, column %d: %s", line, column, syntax.Error())
	}
	return err
}

// decoder walks the JSON text along the Go type. It does so itself because the errors of
// encoding/json have no indices in their paths and an unknown member has no path at all.
type decoder struct {
	bad    []fault.Field
	fields map[reflect.Type]map[string]*member // fieldsOf, found once: lists of tags are long
}

const maxFields = 20

func (d *decoder) fail(path, format string, args ...any) {
	if len(d.bad) < maxFields {
		d.bad = append(d.bad, fault.Field{Field: orWhole(path), Message: fmt.Sprintf(format, args...)})
	}
}

func (d *decoder) value(raw json.RawMessage, v reflect.Value, path string) {
	raw = bytes.TrimSpace(raw)
	if string(raw) == "null" {
		return
	}
	if readsItself(v) {
		d.leaf(raw, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(raw, v.Elem(), path)
	case reflect.Struct:
		d.object(raw, v, path)
	case reflect.Map:
		d.mapping(raw, v, path)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			d.leaf(raw, v, path)
			return
		}
		d.list(raw, v, path)
	default:
		d.leaf(raw, v, path)
	}
}

// readsItself holds for types with their own reading, json.RawMessage among them.
func readsItself(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

func (d *decoder) leaf(raw json.RawMessage, v reflect.Value, path string) {
	err := json.Unmarshal(raw, v.Addr().Interface())
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		d.fail(path, "must be %s, not %s", wanted(v.Type()), described(wrong.Value))
	case err != nil:
		d.fail(path, "%s", err)
	}
}

func (d *decoder) object(raw json.RawMessage, v reflect.Value, path string) {
	fields, known := d.fields[v.Type()]
	if !known {
		fields = fieldsOf(v.Type())
		d.fields[v.Type()] = fields
	}
	d.members(raw, path, strings.ToLower, func(name string, value json.RawMessage) {
		m, known := fields[strings.ToLower(name)]
		if !known {
			d.fail(join(path, name), "is not a known member")
			return
		}
		before := len(d.bad)
		field := v.FieldByIndex(m.index)
		d.value(value, field, join(path, name))
		if len(d.bad) > before || string(bytes.TrimSpace(value)) == "null" {
			return
		}
		if text := m.fault(field); text != "" {
			d.fail(join(path, name), "%s", text)
		}
	})
	if raw[0] != '{' {
		return
	}
	for _, m := range membersOf(v.Type()) {
		if m.required && v.FieldByIndex(m.index).IsZero() {
			d.fail(join(path, m.name), "is required")
		}
	}
}

func (d *decoder) mapping(raw json.RawMessage, v reflect.Value, path string) {
	if v.Type().Key().Kind() != reflect.String {
		d.leaf(raw, v, path)
		return
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	d.members(raw, path, strings.Clone, func(name string, value json.RawMessage) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(value, element, join(path, name))
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), element)
	})
}

// members calls each with the members of an object in their order. The text is known to be JSON.
// fold makes the names equal that count as the same.
func (d *decoder) members(raw json.RawMessage, path string, fold func(string) string, each func(name string, value json.RawMessage)) {
	if raw[0] != '{' {
		d.fail(path, "must be an object")
		return
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	if _, err := in.Token(); err != nil {
		d.fail(path, "%s", err)
		return
	}
	seen := make(map[string]bool)
	for in.More() {
		key, err := in.Token()
		if err != nil {
			d.fail(path, "%s", err)
			return
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			d.fail(join(path, name), "%s", err)
			return
		}
		if seen[fold(name)] {
			d.fail(join(path, name), "is given twice")
			continue
		}
		seen[fold(name)] = true
		each(name, value)
	}
}

func (d *decoder) list(raw json.RawMessage, v reflect.Value, path string) {
	if raw[0] != '[' {
		d.fail(path, "must be a list")
		return
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		d.fail(path, "%s", err)
		return
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		d.value(item, list.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	v.Set(list)
}

// fieldsOf maps the lower-case member names of a struct to its members.
func fieldsOf(t reflect.Type) map[string]*member {
	list := membersOf(t)
	fields := make(map[string]*member, len(list))
	for i := range list {
		fields[strings.ToLower(list[i].name)] = &list[i]
	}
	return fields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orWhole(path string) string {
	if path == "" {
		return "the text"
	}
	return path
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("a whole number %d..%d", -most-1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number 0..%d", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Slice:
		return "a base64 string"
	}
	return "a " + t.String()
}

func described(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return number
	}
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "true or false"
	}
	return "a " + value
}

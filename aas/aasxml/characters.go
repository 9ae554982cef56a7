package aasxml

import (
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// unwritable finds the first string of env with a character that XML 1.0 does not have (clause 2.2,
// "Characters"): encoding/xml would write another one in its place.
func unwritable(env *aas.Environment) []fault.Field {
	if path := badString(reflect.ValueOf(env), ""); path != "" {
		return []fault.Field{{Field: path, Message: "has a character that XML cannot carry"}}
	}
	return nil
}

// badString returns the path of Go names to the string, empty when there is none.
func badString(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.String:
		if !isText(v.String()) {
			return path
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return badString(v.Elem(), path)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			if v.Type().Field(i).Anonymous {
				name = path
			}
			if bad := badString(v.Field(i), name); bad != "" {
				return bad
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return "" // written as base64
		}
		for i := range v.Len() {
			if bad := badString(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); bad != "" {
				return bad
			}
		}
	}
	return ""
}

func isText(s string) bool {
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xfffe, r == 0xffff:
			return false
		}
	}
	return true
}

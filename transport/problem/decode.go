package problem

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// FromDecode turns an error met while a JSON body was read and decoded into a fault that tells the
// caller where and what, in words of JSON: no names of Go types. A fault in the chain (from a type
// that decodes itself) stays, nil stays nil.
func FromDecode(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := fault.From(err); ok {
		return f
	}
	var (
		syntax   *json.SyntaxError
		wrong    *json.UnmarshalTypeError
		tooLarge *http.MaxBytesError
		badTime  *time.ParseError
		base64At base64.CorruptInputError
	)
	switch {
	case errors.As(err, &tooLarge):
		return ErrBodyTooLarge.Because("at most %d bytes are read", tooLarge.Limit).Wrap(err)
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "max depth"):
		return ErrInvalidRequest.Because("the JSON is nested too deeply, at most 10000 levels").Wrap(err)
	case errors.As(err, &syntax):
		return ErrInvalidRequest.Because("malformed JSON at byte %d", syntax.Offset).Wrap(err)
	case errors.As(err, &wrong) && wrong.Field == "":
		return ErrInvalidRequest.Because("body %s", mismatch(wrong)).Wrap(err)
	case errors.As(err, &wrong):
		return ErrInvalidRequest.Invalid(fault.Field{Field: wrong.Field, Message: mismatch(wrong) + " (near byte " + strconv.FormatInt(wrong.Offset, 10) + ")"}).Wrap(err)
	case errors.As(err, &badTime):
		return ErrInvalidRequest.Because("%.40q is not a time in the form of RFC 3339, such as 2026-01-31T12:00:00Z", badTime.Value).Wrap(err)
	case errors.As(err, &base64At):
		return ErrInvalidRequest.Because("a value is not base64").Wrap(err)
	case errors.Is(err, io.EOF):
		return ErrInvalidRequest.Because("body is empty").Wrap(err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrInvalidRequest.Because("body ends too early").Wrap(err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ErrCanceled.Wrap(err)
	}
	return ErrInvalidRequest.Because("body cannot be read").Wrap(err)
}

// mismatch returns a message with the JSON type that a member must have and the one it had.
func mismatch(e *json.UnmarshalTypeError) string {
	want := jsonType(e.Type)
	if number, ok := strings.CutPrefix(e.Value, "number "); ok {
		if strings.HasPrefix(want, "a whole number") || want == "a number" {
			return "must be " + want + " in range, not " + number
		}
		return "must be " + want + ", not a number"
	}
	names := map[string]string{
		"string": "a string", "number": "a number", "bool": "true or false", "object": "an object", "array": "an array",
	}
	if had, ok := names[e.Value]; ok {
		return "must be " + want + ", not " + had
	}
	return "must be " + want
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "a whole number of 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a string"
}

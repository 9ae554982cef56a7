package restapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// Error answers a request with err, in the form of its path's API.
func Error(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, err, problem.FamilyOf(r.URL.Path))
}

// DecodeError answers a request whose body cannot be decoded.
func DecodeError(w http.ResponseWriter, r *http.Request, err error) {
	Error(w, r, decodeError(r, err))
}

// ParameterError answers a request with a path or query parameter that cannot be read.
func ParameterError(w http.ResponseWriter, r *http.Request, err error) {
	Error(w, r, problem.ErrInvalidRequest.Invalid(FieldOf(err)).Wrap(err))
}

// Parameter is implemented by the errors of generated servers about a parameter. The rule is empty
// where the text does not have the parameter's type.
type Parameter interface {
	error
	Parameter() (name, rule string)
}

// IsRequired is the rule that a missing parameter breaks.
const IsRequired = "is required"

// ruleOf returns what a parameter must be whose text does not have its type.
func ruleOf(err error) string {
	if number, ok := errors.AsType[*strconv.NumError](err); ok {
		switch number.Func {
		case "ParseBool":
			return "must be true or false"
		case "ParseInt", "ParseUint":
			return "must be an integer"
		case "ParseFloat":
			return "must be a number"
		}
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return "must be an RFC 3339 time"
	}
	return "cannot be read as the type that it has in the OpenAPI document"
}

// FieldOf returns the parameter that an error of a generated server is about.
func FieldOf(err error) fault.Field {
	f := fault.Field{Field: "parameter"}
	if p, ok := errors.AsType[Parameter](err); ok {
		f.Field, f.Message = p.Parameter()
	}
	switch {
	case f.Message != "":
	case strings.HasSuffix(err.Error(), "is empty, can't bind its value"):
		f.Message = "must not be empty"
	default:
		f.Message = ruleOf(err)
	}
	return f
}

// Required returns the error for a member of a request that is missing.
func Required(field string) error {
	return problem.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: IsRequired})
}

// Or returns the value of an optional parameter, or otherwise when it is absent.
func Or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// contentType is shared between answers and never changed.
var contentType = []string{"application/json"}

// serverBuffer is less than what net/http buffers of an answer before it must send the head.
const serverBuffer = 1500

// WriteJSON writes an answer that is encoded already.
func WriteJSON(w http.ResponseWriter, status int, body []byte) error {
	h := w.Header()
	h["Content-Type"] = contentType
	if len(body) > serverBuffer { // net/http knows the length of a shorter one
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

// Unchanged returns next as it is: the default of options that wrap handlers.
func Unchanged(next http.Handler) http.Handler { return next }

// Anonymous is the name of callers where none is known: the default of options.
func Anonymous(context.Context) string { return "anonymous" }

// Stream removes the server's time limits from one answer that has no end.
func Stream(w http.ResponseWriter) error {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	return rc.SetWriteDeadline(time.Time{})
}

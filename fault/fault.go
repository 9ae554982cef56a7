package fault

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Kind classifies an error. The list is closed: transports have a row for each kind.
type Kind uint8

// The kinds of failure.
const (
	Internal         Kind = iota // a defect or a failed dependency; the text is not shown to the caller
	Invalid                      // the request breaks a rule
	Unauthenticated              // the caller has not proved who it is
	Forbidden                    // the caller is known and lacks the permission
	NotFound                     // the named object does not exist
	AlreadyExists                // the object exists, or the action was done before
	Conflict                     // the state of the object does not allow the action
	TooLarge                     // the request is larger than the limit
	Unsupported                  // the media type or encoding is not supported
	TooMany                      // the caller sends too many requests
	Unavailable                  // a device, peer or queue cannot accept the request now; a later attempt may succeed
	BadGateway                   // a peer sent an invalid answer or none
	Canceled                     // the caller canceled or its deadline passed
	MethodNotAllowed             // the resource exists, the method does not
	endOfKinds                   // keep last
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not found", "already exists", "conflict",
	"too large", "unsupported", "too many", "unavailable", "bad gateway", "canceled", "not allowed",
}

// String returns the name of k.
func (k Kind) String() string {
	if k < endOfKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Kinds returns every kind, for tables that need a row for each.
func Kinds() []Kind {
	all := make([]Kind, 0, endOfKinds)
	for k := range endOfKinds {
		all = append(all, k)
	}
	return all
}

// Field is a violation: a member of a request and the rule that it breaks.
type Field struct {
	Field   string `json:"field"`   // path of the member, such as "writes[3].value"
	Message string `json:"message"` // the rule, such as "must be 1 to 100"
}

// Error is an error with a kind, a stable code and a text for the caller. It is immutable: the methods that extend it return a copy.
// It is safe for concurrent use.
type Error struct {
	Kind     Kind
	Code     string            // stable, for clients, such as TAG_NOT_FOUND
	Message  string            // for the caller: no addresses, file names or texts of inner errors
	Fields   []Field           // violations; may be empty
	Metadata map[string]string // further data for the caller, such as tagName; may be nil
	Err      error             // the cause, for logs; never shown to a caller
}

// New returns an error with the given kind, code and message.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Error returns the message, the fields and the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	for i, f := range e.Fields {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(f.Field + " " + f.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an [Error] of the same kind and code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Code == e.Code
}

// On returns a copy that names its subject: the message becomes "message: subject", and Metadata gets key=subject.
func (e *Error) On(key, subject string) *Error {
	c := e.With(key, subject)
	c.Message = e.Message + ": " + subject
	return c
}

// With returns a copy with key=value added to its Metadata.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Metadata = maps.Clone(e.Metadata)
	if c.Metadata == nil {
		c.Metadata = make(map[string]string, 1)
	}
	c.Metadata[key] = value
	return &c
}

// Because returns a copy whose message ends with the formatted reason, for the caller.
func (e *Error) Because(format string, args ...any) *Error {
	c := *e
	c.Message = e.Message + ": " + fmt.Sprintf(format, args...)
	return &c
}

// Invalid returns a copy with fields added to its Fields.
func (e *Error) Invalid(fields ...Field) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), fields...)
	return &c
}

// Wrap returns a copy with a cause, which is written to logs only.
func (e *Error) Wrap(cause error) *Error {
	c := *e
	c.Err = cause
	return &c
}

// From returns the first [Error] in the chain of err and reports whether there is one.
func From(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf returns the kind of the first [Error] in the chain of err, and [Internal] if there is none.
func KindOf(err error) Kind {
	if e, ok := From(err); ok {
		return e.Kind
	}
	return Internal
}

// errOption is what the errors of Option derive from.
var errOption = New(Invalid, "INVALID_OPTIONS", "")

// Option returns the error of a constructor in package pkg for a bad option: "email: Options.Host is required". The path of the option is the
// error's field, so that a caller can name the setting that the option comes from.
func Option(pkg, path, format string, args ...any) error {
	e := errOption.Invalid(Field{Field: path, Message: fmt.Sprintf(format, args...)})
	e.Message = pkg
	return e
}

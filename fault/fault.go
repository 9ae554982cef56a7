package fault

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// Kind says what sort of failure an error is. The list is closed: transports have a row for each.
type Kind uint8

// The kinds of failure.
const (
	Internal        Kind = iota // a defect or a failed dependency; the text stays inside
	Invalid                     // the caller sent something that breaks a rule
	Unauthenticated             // no valid proof of who the caller is
	Forbidden                   // the caller is known and may not do this
	NotFound                    // the thing named does not exist
	AlreadyExists               // the thing exists, or the act was done before
	Conflict                    // the thing is in a state that does not allow the act
	TooLarge                    // the request is larger than the limit
	Unsupported                 // the media type or encoding is not one that is read
	TooMany                     // the caller asks too often
	Unavailable                 // a device, a peer or a queue cannot take it now; trying later may work
	BadGateway                  // a peer answered wrongly or not at all
	Canceled                    // the caller gave up or its deadline passed
	NotAllowed                  // the resource exists, the method does not
	endOfKinds                  // keep last
)

var kindNames = [...]string{
	"internal", "invalid", "unauthenticated", "forbidden", "not found", "already exists", "conflict",
	"too large", "unsupported", "too many", "unavailable", "bad gateway", "canceled", "not allowed",
}

// String gives the kind's name.
func (k Kind) String() string {
	if k < endOfKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Kinds lists every kind, for tables that must have a row for each.
func Kinds() []Kind {
	all := make([]Kind, 0, endOfKinds)
	for k := range endOfKinds {
		all = append(all, k)
	}
	return all
}

// Field names one member of a request and the rule that it breaks.
type Field struct {
	Field   string `json:"field"`   // path of the member, such as "writes[3].value"
	Message string `json:"message"` // the rule, in words
}

// Error is a failure with a kind, a stable code and a text that may be shown to a caller.
// It is immutable: the methods that add to it return a copy. Safe for concurrent use.
type Error struct {
	Kind     Kind
	Code     string            // stable word for clients, such as TAG_NOT_FOUND
	Message  string            // for the caller: no addresses, file names or texts of inner errors
	Fields   []Field           // what is wrong with which member; may be empty
	Metadata map[string]string // further facts for the caller, such as tagName; may be nil
	Err      error             // the cause, for logs; never shown to a caller
}

// New declares an error.
func New(kind Kind, code, message string) *Error {
	return &Error{Kind: kind, Code: code, Message: message}
}

// Error gives the message, the fields and the cause.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is holds for errors of the same kind and code, whatever their subject.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && t.Code == e.Code
}

// On gives a copy that says which thing it is about: the message becomes "message: subject" and
// Metadata gets key=subject.
func (e *Error) On(key, subject string) *Error {
	c := e.With(key, subject)
	c.Message = e.Message + ": " + subject
	return c
}

// With gives a copy whose Metadata has key=value as well.
func (e *Error) With(key, value string) *Error {
	c := *e
	c.Metadata = maps.Clone(e.Metadata)
	if c.Metadata == nil {
		c.Metadata = make(map[string]string, 1)
	}
	c.Metadata[key] = value
	return &c
}

// Because gives a copy whose message tells the caller why.
func (e *Error) Because(format string, args ...any) *Error {
	c := *e
	c.Message = e.Message + ": " + fmt.Sprintf(format, args...)
	return &c
}

// Invalid gives a copy that names members and the rules they break.
func (e *Error) Invalid(fields ...Field) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), fields...)
	return &c
}

// Wrap gives a copy with a cause that only logs see.
func (e *Error) Wrap(cause error) *Error {
	c := *e
	c.Err = cause
	return &c
}

// From finds the Error in a chain. An error without one is nil, false.
func From(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf gives the kind of an error; Internal for one that has none.
func KindOf(err error) Kind {
	if e, ok := From(err); ok {
		return e.Kind
	}
	return Internal
}

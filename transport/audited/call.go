package audited

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/audit"
)

// Description is what the recorder should know of an operation. The zero Description works.
type Description struct {
	// Objects returns the names of what a call changes. Default: the path parameters.
	Objects func(c Call) []string
	// Before returns the values before the act, to be encoded as JSON; nil if there are none. It must be fast, because
	// the call waits for it. Default: none are recorded.
	Before func(ctx context.Context, c Call) any
	// Detail lets the record have the body of a successful answer, for example the id of what was made.
	Detail bool
	// Result returns the result of a call that was answered over HTTP with the status and body, and false if the status tells it. It
	// is for operations whose answers say more than their status: of 200 that the act failed, or why it was refused in a body of
	// their own. Default: the status tells it.
	Result func(status int, body []byte) (result audit.Result, ok bool)
	// NoValues keeps the request's body out of the log: it is secret, or a file.
	NoValues bool
	// After returns the values to be recorded instead of the request's body, to be encoded as JSON, where the body has secrets that only
	// the domain knows; nil for none. Default: the body.
	After func(c Call) any
	// Optional reports whether a call is carried out although the log cannot be written, such as an emergency stop. Such a call
	// does not wait for the log, which has it after the act, as soon as it can be written; Before is not called. A call whose body is
	// not known is never optional. Optional must read the body as the handler does. Default: none is.
	Optional func(c Call) bool
}

// Call is a call to an operation, over HTTP or gRPC.
type Call struct {
	// Body is the request as JSON; nil if it is empty, not JSON, or too large for the log.
	Body  []byte
	route *chi.Context // nil over gRPC
	query url.Values
}

// HTTP returns the call that a request makes.
func HTTP(r *http.Request, body []byte) Call {
	route := chi.RouteContext(r.Context())
	if route == nil {
		route = chi.NewRouteContext()
	}
	return Call{Body: body, route: route, query: r.URL.Query()}
}

// Routed returns the call of a request that was routed and whose body and query are not looked at, by its context, and false over gRPC.
func Routed(ctx context.Context) (c Call, ok bool) {
	route := chi.RouteContext(ctx)
	return Call{route: route}, route != nil
}

// Query returns a member of the query, empty over gRPC.
func (c Call) Query(name string) string { return c.query.Get(name) }

// Param returns a path parameter, decoded; over gRPC the top-level field of the same name in snake case or camel case.
func (c Call) Param(name string) string {
	if c.route != nil {
		return decoded(c.route.URLParam(name))
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(c.Body, &top) != nil {
		return ""
	}
	return scalar(top[camel(name)])
}

// Decode reads the body into v, and reports whether it could.
func (c Call) Decode(v any) bool { return len(c.Body) > 0 && json.Unmarshal(c.Body, v) == nil }

// Params returns the path parameters of a request, none over gRPC.
func (c Call) Params() (all []string) {
	if c.route == nil {
		return nil
	}
	for i, name := range c.route.URLParams.Keys {
		if name != "*" {
			all = append(all, decoded(c.route.URLParams.Values[i]))
		}
	}
	return all
}

func decoded(param string) string {
	if plain, err := url.PathUnescape(param); err == nil {
		return plain
	}
	return param
}

func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(raw))
}

// camel turns alarm_id into alarmId.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}

// Package call has what the layers of a server learn about one call, in one place: a context and a copy of the request for
// each of them took a tenth of a small request.
package call

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
)

// Key is a key of contexts. Where there is no Context, the values are carried by context.WithValue under the same keys.
type Key uint8

// The keys, and what their values are.
const (
	CallerKey    Key = iota + 1 // *Caller
	ScopeKey                    // *Scope
	PrincipalKey                // *auth.Principal
	contextKey                  // *Context
)

// Caller has the fields of remote.Caller, where they are explained.
type Caller struct {
	Addr         netip.Addr
	Local, Known bool
}

// Scope is for logs.
type Scope struct {
	TraceID string
	Log     *slog.Logger
	Subject atomic.Pointer[string]
}

// Context is the context of one call. The layers set its parts, one after the other, before the handler is called; from
// then on they do not change, but for the Subject.
type Context struct {
	context.Context
	Metadata map[string][]string // of a gRPC call, keys in lower case; nil for HTTP

	caller    Caller
	scope     Scope
	principal any
	set       [contextKey]bool // by key
}

// Of returns the Context that a context is or comes from, nil if there is none.
func Of(ctx context.Context) *Context {
	c, _ := ctx.Value(contextKey).(*Context)
	return c
}

// Value implements context.Context.
func (c *Context) Value(key any) any {
	k, ours := key.(Key)
	switch {
	case !ours:
		return c.Context.Value(key)
	case k == contextKey:
		return c
	case !c.set[k]:
		return c.Context.Value(key)
	case k == CallerKey:
		return &c.caller
	case k == ScopeKey:
		return &c.scope
	}
	return c.principal
}

// SetCaller sets where the call comes from.
func (c *Context) SetCaller(caller Caller) { c.caller, c.set[CallerKey] = caller, true }

// HasCaller reports whether SetCaller was called.
func (c *Context) HasCaller() bool { return c.set[CallerKey] }

// SetScope sets what logs need.
func (c *Context) SetScope(traceID string, log *slog.Logger) {
	c.scope.TraceID, c.scope.Log, c.set[ScopeKey] = traceID, log, true
}

// HasScope reports whether SetScope was called.
func (c *Context) HasScope() bool { return c.set[ScopeKey] }

// SetSubject sets who the caller is, for log lines. The text must not change.
func (c *Context) SetSubject(subject *string) { c.scope.Subject.Store(subject) }

// SetPrincipal sets who makes the call.
func (c *Context) SetPrincipal(principal any) { c.principal, c.set[PrincipalKey] = principal, true }

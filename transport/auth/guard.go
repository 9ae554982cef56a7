package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"sync"

	"github.com/otkit/otkit/transport/problem"
)

// GuardOptions configures a [Guard].
type GuardOptions struct {
	// ProtectOpenSurfaces asks for a token on operations marked OpenSurface too.
	ProtectOpenSurfaces bool
	// StaticTokens are bearer tokens by the ID of the operation that takes them, for callers that
	// cannot log in. An empty one is none.
	StaticTokens map[string]string
	// WriteError answers an HTTP request that was refused. Required.
	WriteError func(http.ResponseWriter, *http.Request, error)
}

// Guard lets calls through to the operations of a table. Safe for concurrent use.
type Guard struct {
	authority *Authority
	table     *Table
	opts      GuardOptions

	mu   sync.Mutex
	errs []error
}

// NewGuard makes a guard.
func NewGuard(a *Authority, t *Table, opts GuardOptions) (*Guard, error) {
	if a == nil || t == nil {
		return nil, errors.New("auth: authority and table are required")
	}
	if opts.WriteError == nil {
		return nil, errors.New("auth: GuardOptions.WriteError is required")
	}
	return &Guard{authority: a, table: t, opts: opts}, nil
}

// Err tells every route and gRPC service that was offered to the guard and has no row in the
// table. Ask it once all are registered; a server with such a one must not start.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}

func (g *Guard) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.errs = append(g.errs, err)
}

// admit checks a call to an operation. credentials are read only when they matter.
func (g *Guard) admit(ctx context.Context, op Operation, credentials func() (string, bool)) (context.Context, error) {
	if op.Access == Open {
		return ctx, nil
	}
	open := op.OpenSurface && !g.opts.ProtectOpenSurfaces
	token, wellFormed := credentials()
	if open && (token == "" || !wellFormed) {
		return ctx, nil
	}
	if token == "" || !wellFormed {
		return ctx, ErrUnauthenticated
	}
	if static := g.opts.StaticTokens[op.ID]; static != "" && subtle.ConstantTimeCompare([]byte(static), []byte(token)) == 1 {
		return ctx, nil
	}
	p, err := g.authority.Verify(ctx, token)
	switch {
	case err == nil:
	case open: // what is open takes tokens of others too; ours only says who it was
		return ctx, nil
	default:
		return ctx, err
	}
	if !open && !op.Access.allows(p) {
		return ctx, ErrForbidden
	}
	problem.SetSubject(ctx, p.Name)
	return g.authority.Context(ctx, p), nil
}

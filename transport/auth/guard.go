package auth

import (
	"context"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// GuardOptions configures a [Guard].
type GuardOptions struct {
	// OpenTo decides who may call an operation marked OpenSurface without a token. Its error is the answer to others; a
	// token or a static token that fits the operation admits them all the same. Default: everybody may.
	OpenTo func(ctx context.Context, c Call) error
	// Limit counts a call once it is known whose it is, and returns an error when it comes too fast. It may be nil.
	Limit func(ctx context.Context, op Operation) error
	// OnRefused is called with each call to an operation marked OpenSurface that was refused, and why. It must not
	// wait. It may be nil.
	OnRefused func(ctx context.Context, op Operation, err error)
	// StaticTokens are bearer tokens by the ID of the operation that takes them, for callers that
	// cannot log in. An empty one is none.
	StaticTokens map[string]string
	// Inside is put around every handler that is registered through [Guard.Router], behind the guard: nothing is read
	// from callers that are refused. It may be nil.
	Inside func(op Operation, h http.Handler) http.Handler
	// Recorder records the calls that may change something. Nil disables recording.
	Recorder Recorder
	// Logger has a line for each token that is refused. Default: discards.
	Logger *slog.Logger
	// WriteError answers an HTTP request that was refused. Required.
	WriteError func(http.ResponseWriter, *http.Request, error)
}

// Call is what [GuardOptions].OpenTo decides by, beside the context.
type Call struct {
	Operation Operation
	Host      string // header Host, or :authority
	Origin    string // header Origin; empty for what is not a web page
}

// Guard lets calls through to the operations of a table. Safe for concurrent use.
type Guard struct {
	authenticator Authenticator
	table         *Table
	opts          GuardOptions

	mu     sync.Mutex
	errs   []error
	served map[string]bool // IDs of operations that have a handler, and gRPC methods
}

// NewGuard returns a guard of the operations of a table, which asks an authenticator who calls.
func NewGuard(a Authenticator, t *Table, opts GuardOptions) (*Guard, error) {
	switch {
	case a == nil:
		return nil, errors.New("auth: NewGuard: the Authenticator is nil")
	case t == nil:
		return nil, errors.New("auth: NewGuard: the Table is nil")
	case opts.WriteError == nil:
		return nil, errors.New("auth: GuardOptions.WriteError is required")
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Guard{authenticator: a, table: t, opts: opts, served: make(map[string]bool)}, nil
}

// Err returns an error naming every route and gRPC service that was offered to the guard and has no row in the
// table. Ask it once all are registered; a server with such a one must not start.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.errs...)
}

// Unserved returns an error naming every route and gRPC method of the table that nothing serves. Ask it once all are
// registered.
func (g *Guard) Unserved() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, op := range g.table.operations {
		if op.Method != "" && !g.served[op.ID] {
			errs = append(errs, fmt.Errorf("%s has no route %s %s", label(op), op.Method, op.Path))
		}
		for _, method := range op.GRPC {
			if !g.served[method] {
				errs = append(errs, fmt.Errorf("%s: no gRPC service has the method %s", label(op), method))
			}
		}
	}
	return errors.Join(errs...)
}

// serves notes that an operation, or a gRPC method, has a handler.
func (g *Guard) serves(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.served[name] = true
}

func (g *Guard) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.errs = append(g.errs, err)
}

// request is how a transport shows a call to the guard.
type request interface {
	Request
	site() (host, origin string)
	message() any // of a unary call over gRPC, otherwise nil
}

// admit checks a call to an operation. What the caller sent is read only when it matters.
func (g *Guard) admit(ctx context.Context, op Operation, r request) (context.Context, error) {
	if op.Access == Open {
		return ctx, nil
	}
	ctx, err := g.identify(ctx, op, r)
	if err == nil && g.opts.Limit != nil {
		err = g.opts.Limit(ctx, op)
	}
	return ctx, err
}

// identify finds out who calls, and whether they may.
func (g *Guard) identify(ctx context.Context, op Operation, r request) (context.Context, error) {
	token, wellFormed := r.Token()
	// A static token may have any characters.
	if static := g.opts.StaticTokens[op.ID]; token != "" && static != "" && subtle.ConstantTimeCompare([]byte(static), []byte(token)) == 1 {
		return ctx, nil
	}
	p, err := g.authenticator.Authenticate(ctx, r)
	if err != nil {
		p = nil
	} else if p == nil {
		err = ErrUnauthenticated
	} else if p.Subject == "" {
		p, err = nil, errNoSubject
	}
	verified := err
	if err == nil && allows(op.Access, p) {
		return identified(ctx, p), nil
	}
	if op.OpenSurface { // a token that is none of ours, or of too low a role, counts as none
		refused := g.closed(ctx, op, r)
		switch {
		case refused == nil && p != nil: // ours only says who it was
			return identified(ctx, p), nil
		case refused == nil:
			return ctx, nil
		case p == nil && errors.Is(err, ErrUnauthenticated):
			err = refused
		}
	}
	switch {
	case p != nil:
		problem.SetSubject(ctx, p.Name)
		err = ErrForbidden
		if role := roleNames[op.Access]; role != "" {
			err = ErrForbidden.Because("it needs the role %s", role)
		}
		if g.opts.Recorder != nil && op.Audited() {
			g.opts.Recorder.Denied(ctx, op, p, r.message(), ErrForbidden)
		}
	case wellFormed && token != "":
		g.logRefused(ctx, token, verified)
	}
	if op.OpenSurface && g.opts.OnRefused != nil {
		g.opts.OnRefused(ctx, op, err)
	}
	return ctx, err
}

// logRefused leaves a line for a token that was refused. The claims in it are not proven.
func (g *Guard) logRefused(ctx context.Context, token string, err error) {
	f, ok := fault.From(err)
	if !ok || f.Kind != fault.Unauthenticated {
		return // it could not be checked, which the answer says
	}
	var reason error = f
	if f.Err != nil {
		reason = f.Err
	}
	hash := hashOf(token)
	g.opts.Logger.WarnContext(ctx, "token refused", "reason", reason, "issuer", shown(issuerOf(token)), "token", hex.EncodeToString(hash[:4]))
}

// closed returns why an operation marked OpenSurface is not open to a call, or nil.
func (g *Guard) closed(ctx context.Context, op Operation, r request) error {
	host, origin := r.site()
	if op.OpenTo != nil {
		return op.OpenTo(ctx, host, origin)
	}
	if g.opts.OpenTo == nil {
		return nil
	}
	return g.opts.OpenTo(ctx, Call{Operation: op, Host: host, Origin: origin})
}

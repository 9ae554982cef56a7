package auth

import (
	"context"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/internal/call"
	"github.com/otkit/otkit/transport/problem"
)

// Principal is who makes a call. Issuer and Subject together identify the user: limits count by them, and a hub
// connection belongs to them. A Principal is shared between calls: do not change it.
type Principal struct {
	Issuer    string        // who vouches for Subject, such as "plant"; may be empty where there is one login
	Subject   string        // the account's name, or the issuer's ID of the user. Required
	Name      string        // for people: logs, acknowledgements
	Role      accounts.Role // empty: no role; only AnyRole operations are allowed
	SessionID string        // optional: the session of the login; empty for a token of an outside issuer
	TokenID   string        // optional: claim jti
	ExpiresAt time.Time     // when the token ends; zero for never. The session may end earlier

	// Checker is asked while a stream lasts whether the principal still counts. Nil: until ExpiresAt.
	Checker Checker
}

// Can reports whether the principal's role includes the given one.
func (p *Principal) Can(role accounts.Role) bool { return p != nil && p.Role.Includes(role) }

// From returns the principal of a call, and reports whether there is one.
func From(ctx context.Context) (*Principal, bool) {
	p, ok := ctx.Value(call.PrincipalKey).(*Principal)
	return p, ok
}

// NameOf returns the name of a call's principal, "anonymous" when there is none.
func NameOf(ctx context.Context) string {
	if p, ok := From(ctx); ok {
		return p.Name
	}
	return "anonymous"
}

// WithPrincipal returns a context that carries a verified principal, for transports that check
// callers themselves. [Guard] does it for all others.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, call.PrincipalKey, p)
}

// identified returns the context of a call whose principal is known.
func identified(ctx context.Context, p *Principal) context.Context {
	if c := call.Of(ctx); c != nil && c.HasScope() {
		c.SetPrincipal(p)
		c.SetSubject(&p.Name)
		return ctx
	}
	problem.SetSubject(ctx, p.Name)
	return WithPrincipal(ctx, p)
}

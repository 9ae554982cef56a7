package auth

import (
	"context"
	"time"

	"github.com/otkit/otkit/accounts"
)

// Principal is who makes a call, as their token proves it. It is shared between calls: do not change it.
type Principal struct {
	Issuer    string
	Subject   string        // the account's name, or the outside issuer's id of the user
	Name      string        // for people: logs, acknowledgements
	Role      accounts.Role // "" when an outside token names none of the three
	SessionID string        // "" for a token of an outside issuer
	TokenID   string        // claim jti
	ExpiresAt time.Time     // when the token ends; it may be cut short by its session
}

// Can says whether the principal's role includes the given one.
func (p *Principal) Can(role accounts.Role) bool { return p != nil && p.Role.Includes(role) }

type contextKey struct{}

type caller struct {
	principal *Principal
	authority *Authority
}

// From gives the principal of a call; false for a call without a token.
func From(ctx context.Context) (*Principal, bool) {
	c, ok := ctx.Value(contextKey{}).(*caller)
	if !ok {
		return nil, false
	}
	return c.principal, true
}

// Context gives a context that carries a verified principal, for transports that verify by
// themselves. [Guard] does it for all others.
func (a *Authority) Context(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, &caller{principal: p, authority: a})
}

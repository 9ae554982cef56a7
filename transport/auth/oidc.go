package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/internal/runes"
)

// OIDC names an outside OpenID Connect issuer whose tokens are accepted beside the own ones.
type OIDC struct {
	Issuer     string // as in its discovery document; https, or http on a loopback address
	Audience   string // must be among the token's aud
	RolesClaim string // default "roles"; dots lead into nested claims: realm_access.roles

	// RoleMap has our role for each of the issuer's names; others do not count. Nil: our own names count.
	RoleMap map[string]accounts.Role

	Transport http.RoundTripper // for requests to the issuer; default http.DefaultTransport
}

const (
	oidcLeeway   = 30 * time.Second // between the issuer's clock and ours
	oidcRetry    = 5 * time.Second  // between attempts to find an issuer that was down
	oidcKeyAge   = 10 * time.Second // tokens with unknown keys make us ask for keys at most this often
	oidcTimeout  = 10 * time.Second
	oidcMaxBytes = 1 << 20
)

// oidcAlgorithms are accepted of outside issuers: every asymmetric one that go-oidc knows.
var oidcAlgorithms = [...]string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// outsideIssuer verifies the tokens of an OpenID Connect issuer. It looks the issuer up when its
// first token comes, so that the engine starts while the issuer is down.
type outsideIssuer struct {
	issuer, audience string
	rolesClaim       string
	roleMap          map[string]accounts.Role
	now              func() time.Time
	logger           *slog.Logger
	client           *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	failed   time.Time // when the issuer was last looked up in vain
}

func newOutsideIssuer(o OIDC, opts Options) (*outsideIssuer, error) {
	u, err := url.Parse(o.Issuer)
	if err != nil || u.Host == "" {
		return nil, errors.New("auth: Options.OIDC.Issuer must be a URL")
	}
	if err := checkScheme(u); err != nil {
		return nil, fmt.Errorf("auth: Options.OIDC.Issuer: %w", err)
	}
	if o.Audience == "" {
		return nil, errors.New("auth: Options.OIDC.Audience is required")
	}
	if o.RolesClaim == "" {
		o.RolesClaim = "roles"
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &outsideIssuer{
		issuer: o.Issuer, audience: o.Audience, rolesClaim: o.RolesClaim, roleMap: o.RoleMap, now: opts.Now, logger: opts.Logger,
		client: &http.Client{Timeout: oidcTimeout, Transport: &issuerTransport{base: o.Transport, now: opts.Now}},
	}, nil
}

// checkScheme allows https, and http to this host itself.
func checkScheme(u *url.URL) error {
	switch u.Scheme {
	case "https":
		return nil
	case "http":
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() == "localhost" || err == nil && addr.IsLoopback() {
			return nil
		}
		return errors.New("http is allowed on a loopback address only")
	}
	return errors.New("scheme must be https")
}

func (o *outsideIssuer) verify(ctx context.Context, token string) (*verified, error) {
	verifier, err := o.discover(ctx)
	if err != nil {
		return nil, err
	}
	t, err := verifier.Verify(ctx, token)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(err.Error(), "fetching keys") { // go-oidc has no error value to compare with
			return nil, ErrIssuerUnavailable.Wrap(err)
		}
		return nil, ErrUnauthenticated.Wrap(err)
	}
	return o.accept(t)
}

func (o *outsideIssuer) accept(t *oidc.IDToken) (*verified, error) {
	var c struct {
		NotBefore float64 `json:"nbf"`
		TokenID   string  `json:"jti"`
		Username  string  `json:"preferred_username"`
		Name      string  `json:"name"`
	}
	var all map[string]any
	if err := errors.Join(t.Claims(&c), t.Claims(&all)); err != nil {
		return nil, ErrUnauthenticated.Wrap(err)
	}
	now := o.now()
	expires := t.Expiry.Add(oidcLeeway)
	switch {
	case t.Subject == "":
		return nil, ErrUnauthenticated.Wrap(errors.New("sub is missing"))
	case t.Expiry.IsZero() || !now.Before(expires):
		return nil, ErrUnauthenticated.Wrap(errExpired)
	case c.NotBefore > float64(now.Add(oidcLeeway).Unix()):
		return nil, ErrUnauthenticated.Wrap(errors.New("token is not valid yet"))
	}
	p := &Principal{
		Issuer: t.Issuer, Subject: t.Subject, Name: t.Subject, Role: highestRole(claimAt(all, o.rolesClaim), o.roleMap),
		TokenID: c.TokenID, ExpiresAt: t.Expiry,
	}
	if p.Role == "" {
		o.logger.Warn("token has no role that counts here", "subject", t.Subject, "claim", o.rolesClaim, "roles", shown(claimAt(all, o.rolesClaim)))
	}
	if c.Username != "" {
		p.Name = c.Username
	} else if c.Name != "" {
		p.Name = c.Name
	}
	return &verified{principal: p, expires: expires, outside: true}, nil
}

func (o *outsideIssuer) discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	now := o.now()
	if !o.failed.IsZero() && now.Sub(o.failed) < oidcRetry {
		return nil, ErrIssuerUnavailable
	}
	// Others wait for this answer too, so it must not end with this caller; the client has a timeout.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client), o.issuer)
	if err != nil {
		o.failed = now
		o.logger.WarnContext(ctx, "OpenID Connect issuer was not found", "issuer", o.issuer, "error", err)
		return nil, ErrIssuerUnavailable.Wrap(err)
	}
	o.verifier = provider.Verifier(&oidc.Config{
		ClientID:             o.audience,
		SupportedSigningAlgs: oidcAlgorithms[:],
		SkipExpiryCheck:      true, // accept does it, with its own leeway
	})
	return o.verifier, nil
}

// claimAt finds a claim by its name, or by a path of names joined with dots.
func claimAt(all map[string]any, path string) any {
	if v, ok := all[path]; ok { // names like https://example.com/roles have dots of their own
		return v
	}
	head, rest, nested := strings.Cut(path, ".")
	if !nested {
		return nil
	}
	inner, ok := all[head].(map[string]any)
	if !ok {
		return nil
	}
	return claimAt(inner, rest)
}

// shown formats a claim for a log line.
func shown(claim any) string {
	return runes.Shorten(fmt.Sprint(claim), 200)
}

// highestRole finds the highest of the three roles in a claim: a list of names, or one text with
// names between blanks or commas. The names are those of a map, or without one our own. Others are ignored.
func highestRole(claim any, named map[string]accounts.Role) accounts.Role {
	var names []string
	switch v := claim.(type) {
	case string:
		names = strings.FieldsFunc(v, func(c rune) bool { return c == ' ' || c == ',' })
	case []any:
		for _, one := range v {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	var highest accounts.Role
	for _, name := range names {
		role, ok := named[name]
		if named == nil {
			role, ok = accounts.ParseRole(name)
		}
		if ok && !highest.Includes(role) {
			highest = role
		}
	}
	return highest
}

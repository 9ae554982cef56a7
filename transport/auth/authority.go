package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/remote"
)

// Accounts is what an [Authority] needs of accounts.Service.
type Accounts interface {
	Login(ctx context.Context, name, password, address string) (accounts.Login, error)
	Refresh(ctx context.Context, refreshToken string) (accounts.Login, error)
	Logout(ctx context.Context, sessionID string) error
	SignIn(ctx context.Context, name, password, address string) (accounts.Login, error)
	Renew(ctx context.Context, secret string) (accounts.Login, error)
	SignOut(ctx context.Context, secret, address string) error
	SessionInfo(ctx context.Context, sessionID string) (accounts.SessionInfo, error)
}

// Options of an [Authority]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	NewID  func() string    // the claim jti; default UUIDv7
	Logger *slog.Logger     // default: nothing is logged

	Issuer    string        // the claim iss of own tokens; default "otkit"
	Audience  string        // the claim aud of own tokens; default "otkit"
	AccessTTL time.Duration // life of an access token; default 60 min, 1 s to 24 h
	CacheSize int           // verified tokens that are remembered; default 10000

	OIDC *OIDC // an outside issuer whose tokens are accepted too; default none
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Issuer == "" {
		o.Issuer = "otkit"
	}
	if o.Audience == "" {
		o.Audience = "otkit"
	}
	if o.AccessTTL == 0 {
		o.AccessTTL = time.Hour
	}
	if o.CacheSize == 0 {
		o.CacheSize = 10_000
	}
	switch {
	case o.AccessTTL < time.Second || o.AccessTTL > 24*time.Hour:
		return o, errors.New("auth: Options.AccessTTL must be 1s to 24h")
	case o.CacheSize < 1:
		return o, errors.New("auth: Options.CacheSize must be above 0")
	case o.OIDC != nil && o.OIDC.Issuer == o.Issuer:
		return o, errors.New("auth: Options.OIDC.Issuer must differ from Options.Issuer")
	}
	return o, nil
}

// Authority issues access tokens for sessions and verifies the tokens of calls. Safe for
// concurrent use.
type Authority struct {
	accounts Accounts
	keys     *Keys
	opts     Options
	cache    tokenCache
	own      ownTokens
	outside  *outsideIssuer // nil when there is none
}

// New makes an authority. An error names the option that is wrong.
func New(acc Accounts, keys *Keys, opts Options) (*Authority, error) {
	if acc == nil || keys == nil {
		return nil, errors.New("auth: accounts and keys are required")
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	a := &Authority{accounts: acc, keys: keys, opts: opts}
	a.cache.max, a.cache.tokens = opts.CacheSize, make(map[tokenHash]*verified)
	a.own = newOwnTokens(keys, opts)
	if opts.OIDC != nil {
		if a.outside, err = newOutsideIssuer(*opts.OIDC, opts); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Grant is the result of a login or a refresh.
type Grant struct {
	Account      string // name of the account
	AccessToken  string
	ExpiresIn    time.Duration // whole seconds
	ExpiresAt    time.Time     // of the access token
	RefreshToken string        // of SignIn: the secret for Renew and SignOut; of Renew: empty
	Roles        []string
}

// Login opens a session. Errors are those of accounts.Service.Login.
func (a *Authority) Login(ctx context.Context, name, password, address string) (Grant, error) {
	login, err := a.accounts.Login(ctx, name, password, address)
	if err != nil {
		return Grant{}, err
	}
	return a.grant(login)
}

// Refresh trades a refresh token for new tokens. Errors are those of accounts.Service.Refresh.
func (a *Authority) Refresh(ctx context.Context, refreshToken string) (Grant, error) {
	login, err := a.accounts.Refresh(ctx, refreshToken)
	if err != nil {
		return Grant{}, err
	}
	a.seen(ctx, login)
	return a.grant(login)
}

func (a *Authority) seen(ctx context.Context, login accounts.Login) {
	from, known := remote.From(ctx)
	if s, ok := a.accounts.(interface{ Seen(account, remote string) }); ok && known && from.Known {
		s.Seen(login.Account.Name, from.String())
	}
}

// SignIn opens the session of a browser. Errors are those of accounts.Service.SignIn.
func (a *Authority) SignIn(ctx context.Context, name, password, address string) (Grant, error) {
	login, err := a.accounts.SignIn(ctx, name, password, address)
	if err != nil {
		return Grant{}, err
	}
	return a.grant(login)
}

// Renew returns a new access token for the session of a browser. Errors are those of accounts.Service.Renew.
func (a *Authority) Renew(ctx context.Context, secret string) (Grant, error) {
	login, err := a.accounts.Renew(ctx, secret)
	if err != nil {
		return Grant{}, err
	}
	a.seen(ctx, login)
	return a.grant(login)
}

// SignOut ends the session of a browser. Errors are those of accounts.Service.SignOut.
func (a *Authority) SignOut(ctx context.Context, secret, address string) error {
	return a.accounts.SignOut(ctx, secret, address)
}

// Logout ends the session of the call's principal, and with it every token of the session.
func (a *Authority) Logout(ctx context.Context) error {
	p, ok := From(ctx)
	switch {
	case !ok:
		return ErrUnauthenticated
	case p.SessionID == "":
		return ErrOutsideSession
	}
	return a.accounts.Logout(ctx, p.SessionID)
}

// RotateKeys makes a new signing key; tokens signed before stay good until they expire.
func (a *Authority) RotateKeys() error { return a.keys.Rotate(a.opts.AccessTTL) }

func (a *Authority) grant(login accounts.Login) (Grant, error) {
	now := a.opts.Now().UTC().Truncate(time.Second)
	expires := now.Add(a.opts.AccessTTL)
	if login.Session.ExpiresAt.Before(expires) {
		expires = login.Session.ExpiresAt.UTC().Truncate(time.Second)
	}
	token, err := a.own.sign(login, a.opts.NewID(), now, expires)
	if err != nil {
		return Grant{}, fmt.Errorf("sign access token: %w", err)
	}
	return Grant{
		Account: login.Account.Name, AccessToken: token, ExpiresIn: expires.Sub(now), ExpiresAt: expires,
		RefreshToken: login.RefreshToken, Roles: []string{string(login.Account.Role)},
	}, nil
}

// maxToken is the longest token that is looked at, in bytes.
const maxToken = 16 << 10

// Authenticate implements [Authenticator] for bearer tokens.
func (a *Authority) Authenticate(ctx context.Context, r Request) (*Principal, error) {
	token, ok := r.Token()
	if !ok || token == "" {
		return nil, nil
	}
	return a.Verify(ctx, token)
}

// Verify returns the owner of a token. If the token is invalid, it returns [ErrUnauthenticated];
// [ErrIssuerUnavailable] and errors of the account store mean that it is unknown.
//
// The signature is checked when a token is first seen. Its expiry, and whether its session and its
// account still stand and with which role, is checked each time.
func (a *Authority) Verify(ctx context.Context, token string) (*Principal, error) {
	if token == "" || len(token) > maxToken {
		return nil, ErrUnauthenticated
	}
	hash := hashOf(token)
	v := a.cache.get(hash)
	if v == nil {
		var err error
		if v, err = a.check(ctx, token); err != nil {
			return nil, err
		}
		v.principal.Checker = a
		a.cache.put(hash, v)
	}
	if !a.opts.Now().Before(v.expires) {
		a.cache.drop(hash)
		return nil, ErrUnauthenticated.Wrap(errExpired)
	}
	if v.outside {
		return v.principal, nil
	}
	live, err := a.accounts.SessionInfo(ctx, v.principal.SessionID)
	if err != nil {
		return nil, err
	}
	if live.Role != v.principal.Role {
		changed := *v.principal
		changed.Role = live.Role
		return &changed, nil
	}
	return v.principal, nil
}

func (a *Authority) check(ctx context.Context, token string) (*verified, error) {
	if a.outside != nil && issuerOf(token) == a.outside.issuer {
		return a.outside.verify(ctx, token)
	}
	return a.own.verify(ctx, token)
}

package accountspart

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/accountsapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/server"
)

// Options configure the accounts of a server. DataDir is required.
type Options struct {
	DataDir  string // has the signing keys
	Accounts accounts.Store
	Sessions accounts.SessionStore // default, with Accounts: in memory
	// SharedKeys publishes the keys to engines that share the stores; nil where this one has them alone.
	SharedKeys accounts.KeyStore
	// Cluster has the engines that share the stores; nil if this one has them for itself. They count failed logins together.
	Cluster *clusterpart.Cluster

	AdminUsername string        // of the account that is made when there is none; default admin
	AdminPassword string        // of that account; empty makes a random one
	Issuer        string        // claim iss of our tokens; default otkit
	Audience      string        // claim aud of our tokens; default otkit
	AccessTTL     time.Duration // life of an access token; default 60 minutes
	RefreshTTL    time.Duration // life of a session; default that of accounts.Options
	OIDC          *auth.OIDC    // accept tokens of this outside issuer as well
	// OnLogin is called after each login, successful or not. It must not block. It may be nil.
	OnLogin func(ctx context.Context, e accounts.LoginEvent)
	// OnSignOut is called when a browser has ended its session. It must not block. It may be nil.
	OnSignOut func(ctx context.Context, e accounts.LoginEvent)

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Accounts is the part. Make it with New.
type Accounts struct {
	opts      Options
	service   *accounts.Service
	keys      *auth.Keys
	authority *auth.Authority
	leave     func() // the bus of the engines; nil if there is none
}

// New opens the accounts and the signing keys.
func New(ctx context.Context, o Options) (*Accounts, error) {
	switch {
	case o.DataDir == "":
		return nil, errors.New("accounts: Options.DataDir is required")
	case (o.Accounts == nil) != (o.Sessions == nil):
		return nil, errors.New("accounts: Options.Accounts and Sessions go together: removing an account ends its sessions")
	case o.Accounts == nil:
		memory := accounts.NewMemory()
		o.Accounts, o.Sessions = memory, memory
	}
	o.AdminUsername = cmp.Or(o.AdminUsername, "admin")
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Accounts{opts: o}
	var err error
	ao := accounts.Options{Now: o.Now, Logger: o.Logger, RefreshTTL: o.RefreshTTL, OnLogin: o.OnLogin, OnSignOut: o.OnSignOut}
	if o.Cluster != nil {
		ao.OnAttempt = a.publish
	}
	if a.service, err = accounts.New(o.Accounts, o.Sessions, ao); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if a.keys, err = auth.OpenKeys(o.DataDir, auth.KeysOptions{Now: o.Now}); err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	if o.SharedKeys != nil {
		if err := a.keys.Share(ctx, o.SharedKeys); err != nil {
			return nil, err
		}
	}
	if b := o.Cluster.Bus(); b != nil {
		if a.leave, err = b.Subscribe(subjectAttempts, a.note); err != nil {
			return nil, err
		}
	}
	a.authority, err = auth.New(a.service, a.keys, auth.Options{Now: o.Now, Logger: o.Logger,
		Issuer: o.Issuer, Audience: o.Audience, AccessTTL: o.AccessTTL, OIDC: o.OIDC})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Authenticator returns what finds the principal of a token.
func (a *Accounts) Authenticator() auth.Authenticator { return a.authority }

// Authority returns what issues and ends tokens, for a part that has logins of its own.
func (a *Accounts) Authority() accountsapi.Authority { return sessions{a.authority} }

// Service returns the accounts.
func (a *Accounts) Service() *accounts.Service { return a.service }

// EnsureAdmin makes the first account when there is none. It returns the password when it chose one,
// which is kept nowhere. Call it last: a start that fails must not leave an account with an unknown password.
func (a *Accounts) EnsureAdmin(ctx context.Context) (password string, err error) {
	if password, err = a.service.EnsureAdmin(ctx, a.opts.AdminUsername, a.opts.AdminPassword); err != nil {
		return "", fmt.Errorf("first account: %w", err)
	}
	return password, nil
}

// subjectAttempts is the subject of messages about logins: a byte that is 1 for one that failed, and the key of the attempt.
const subjectAttempts = "accounts.attempts"

// publish tells the other engines of an attempt. If the bus is down, they do not count it.
func (a *Accounts) publish(t accounts.Attempt) {
	failed := byte(0)
	if t.Failed {
		failed = 1
	}
	_ = a.opts.Cluster.Bus().Publish(subjectAttempts, append([]byte{failed}, t.Key...))
}

// note counts an attempt of another engine.
func (a *Accounts) note(data []byte) {
	if len(data) > 0 {
		a.service.Note(accounts.Attempt{Failed: data[0] == 1, Key: data[1:]})
	}
}

// close leaves the bus.
func (a *Accounts) close(context.Context) error {
	if a.leave != nil {
		a.leave()
	}
	return nil
}

// Part returns what the accounts contribute to a server.
func (a *Accounts) Part() server.Part {
	p := server.Part{Name: "accounts", Close: a.close, Operations: Operations(), Routes: a.routes, Audited: accountsapi.Audited(a.service, callerOf)}
	if a.opts.SharedKeys != nil {
		p.Jobs = append(p.Jobs, server.Every(auth.PublishEvery, a.opts.Logger,
			"failed to publish signing keys; other engines may refuse the tokens of this one", a.keys.Publish))
	}
	return p
}

func (a *Accounts) routes(r server.Router) error {
	api, err := accountsapi.New(sessions{a.authority}, a.service, accountsapi.Options{Caller: callerOf})
	if err != nil {
		return err
	}
	api.Mount(r)
	r.Get("/.well-known/jwks.json", a.keys.ServeHTTP)
	return nil
}

// callerOf returns the account of who makes a call.
func callerOf(ctx context.Context) accountsapi.Caller {
	p, ok := auth.From(ctx)
	if !ok {
		return accountsapi.Caller{}
	}
	c := accountsapi.Caller{SessionID: p.SessionID, Admin: p.Can(accounts.Admin)}
	if p.SessionID != "" {
		c.Account = p.Subject
	}
	return c
}

// sessions serves [accountsapi.Authority] by an authority.
type sessions struct{ *auth.Authority }

// Login implements accountsapi.Authority.
func (s sessions) Login(ctx context.Context, username, password, remote string) (accountsapi.Grant, error) {
	g, err := s.Authority.Login(ctx, username, password, remote)
	return accountsapi.Grant(g), err
}

// Refresh implements accountsapi.Authority.
func (s sessions) Refresh(ctx context.Context, refreshToken string) (accountsapi.Grant, error) {
	g, err := s.Authority.Refresh(ctx, refreshToken)
	return accountsapi.Grant(g), err
}

// SignIn implements accountsapi.Authority.
func (s sessions) SignIn(ctx context.Context, username, password, remote string) (accountsapi.Grant, error) {
	g, err := s.Authority.SignIn(ctx, username, password, remote)
	return accountsapi.Grant(g), err
}

// Renew implements accountsapi.Authority.
func (s sessions) Renew(ctx context.Context, secret string) (accountsapi.Grant, error) {
	g, err := s.Authority.Renew(ctx, secret)
	return accountsapi.Grant(g), err
}

// Operations are the operations of the part.
func Operations() []auth.Operation {
	return []auth.Operation{
		{ID: "login", Method: http.MethodPost, Path: "/api/v1/auth/login", Access: auth.Open,
			Unaudited: "Options.OnLogin reports logins, also failed ones, with the account's name"},
		{ID: "refresh", Method: http.MethodPost, Path: "/api/v1/auth/refresh", Access: auth.Open, Unaudited: "continues the session of a recorded login"},
		{ID: "openConsoleSession", Method: http.MethodPost, Path: "/console/session", Access: auth.Open,
			Unaudited: "Options.OnLogin reports logins, also failed ones, with the account's name"},
		{ID: "renewConsoleSession", Method: http.MethodPut, Path: "/console/session", Access: auth.Open, Unaudited: "continues the session of a recorded login"},
		{ID: "endConsoleSession", Method: http.MethodDelete, Path: "/console/session", Access: auth.Open,
			Unaudited: "Options.OnSignOut reports the end of sessions, with the account's name"},
		{ID: "logout", Method: http.MethodPost, Path: "/api/v1/auth/logout", Access: auth.AnyRole, AuditOptional: true},
		{ID: "changePassword", Method: http.MethodPost, Path: "/api/v1/auth/password", Access: auth.AnyRole},
		// The handlers ask for the role Admin where the sessions are those of others.
		{ID: "listSessions", Method: http.MethodGet, Path: "/api/v1/auth/sessions", Access: auth.AnyRole},
		{ID: "endSessions", Method: http.MethodDelete, Path: "/api/v1/auth/sessions", Access: auth.AnyRole},
		{ID: "endSession", Method: http.MethodDelete, Path: "/api/v1/auth/sessions/{sessionId}", Access: auth.AnyRole},
		{ID: "listUsers", Method: http.MethodGet, Path: "/api/v1/users", Access: auth.Admin},
		{ID: "createUser", Method: http.MethodPost, Path: "/api/v1/users", Access: auth.Admin},
		{ID: "getUser", Method: http.MethodGet, Path: "/api/v1/users/{username}", Access: auth.Admin},
		{ID: "replaceUser", Method: http.MethodPut, Path: "/api/v1/users/{username}", Access: auth.Admin},
		{ID: "deleteUser", Method: http.MethodDelete, Path: "/api/v1/users/{username}", Access: auth.Admin},
		{ID: "getKeys", Method: http.MethodGet, Path: "/.well-known/jwks.json", Access: auth.Open},
	}
}

package accountsapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/accountsapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Authority issues and ends tokens. Its errors are answered as they are.
type Authority interface {
	// Login returns tokens for a name and a password. remote is the caller's address, which throttling counts by.
	Login(ctx context.Context, username, password, remote string) (Grant, error)
	// Refresh exchanges a refresh token for new tokens.
	Refresh(ctx context.Context, refreshToken string) (Grant, error)
	// Logout ends the session of the token that the call carries.
	Logout(ctx context.Context) error
	// SignIn opens the session of a browser. Grant.RefreshToken is its secret, which is good until the session ends.
	SignIn(ctx context.Context, username, password, remote string) (Grant, error)
	// Renew returns a new access token for the session of a secret. Calls with the same secret may overlap.
	Renew(ctx context.Context, secret string) (Grant, error)
	// SignOut ends the session of a secret, if there is one.
	SignOut(ctx context.Context, secret, remote string) error
}

// Accounts changes passwords and manages accounts and sessions. accounts.Service is one.
type Accounts interface {
	ChangePassword(ctx context.Context, sessionID, current, password, remote string) error
	Sessions(ctx context.Context, account string) ([]accounts.Session, error)
	EndSession(ctx context.Context, account, id string) error
	EndSessions(ctx context.Context, account, keep string) error

	List(ctx context.Context) ([]accounts.Account, error)
	Account(ctx context.Context, name string) (accounts.Account, error)
	Create(ctx context.Context, name string, c accounts.Change) (accounts.Account, error)
	Change(ctx context.Context, name string, c accounts.Change) (accounts.Account, error)
	Delete(ctx context.Context, name string, unless func(accounts.Account) error) error
}

// Caller is who makes a call.
type Caller struct {
	Account   string // empty for the token of another issuer
	SessionID string // empty for the token of another issuer
	Admin     bool   // whether the caller may list and end the sessions of others
}

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns who makes a call. Default: nobody, so that passwords and sessions cannot be reached.
	Caller func(ctx context.Context) Caller
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// Grant is the tokens that a login or a refresh returns.
type Grant struct {
	Account      string // name of the account
	AccessToken  string
	ExpiresIn    time.Duration // whole seconds
	ExpiresAt    time.Time     // of the access token
	RefreshToken string
	Roles        []string
}

// API is the REST API of accounts.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// New returns the API over an authority and the accounts whose tokens it issues.
func New(authority Authority, service Accounts, o Options) (*API, error) {
	switch {
	case authority == nil:
		return nil, errors.New("accountsapi: authority is required")
	case service == nil:
		return nil, errors.New("accountsapi: accounts are required")
	}
	if o.Caller == nil {
		o.Caller = func(context.Context) Caller { return Caller{} }
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{authority: authority, accounts: service, caller: o.Caller}, body: o.Body}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withRemote, ownOrigin, restapi.KeepIfMatch[gen.StrictHandlerFunc]},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

type (
	remoteKey struct{}
	cookieKey struct{}
)

// withRemote puts the caller's address, which throttling needs, and the cookie of a browser into the context.
func withRemote(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		ctx = context.WithValue(ctx, remoteKey{}, r.RemoteAddr)
		ctx = context.WithValue(ctx, cookieKey{}, cookieOf(r))
		return next(ctx, w, r, request)
	}
}

func remoteOf(ctx context.Context) string {
	remote, _ := ctx.Value(remoteKey{}).(string)
	return remote
}

package bridgeapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/bridgeapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Host is the bridge. *bridge.Host is one.
type Host interface {
	Status() link.Status
	Link() bridge.LinkStatus
	Stats(ctx context.Context) (bridge.Stats, error)
	Manifest(ctx context.Context) (link.Manifest, error)
	Bind(ctx context.Context, r link.BindRequest, secret string) (link.Manifest, error)
	Release(ctx context.Context) error
	Flush(ctx context.Context) error
}

// Authority issues and ends tokens. Its errors are answered as they are.
type Authority interface {
	// Login returns tokens for a name and a password. remote is the caller's address, which throttling counts by.
	Login(ctx context.Context, username, password, remote string) (Grant, error)
	// Refresh exchanges a refresh token for new tokens.
	Refresh(ctx context.Context, refreshToken string) (Grant, error)
	// Logout ends the session of the token that the call carries.
	Logout(ctx context.Context) error
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

// Accounts manages the local accounts. *accounts.Service is one.
type Accounts interface {
	Add(ctx context.Context, name, password string, role accounts.Role) error
	Delete(ctx context.Context, name string, unless func(accounts.Account) error) error
	List(ctx context.Context) ([]accounts.Account, error)
	ChangePassword(ctx context.Context, sessionID, current, password, remote string) error
}

// Caller is who makes a call.
type Caller struct {
	Local     bool // the call comes from this machine
	Engine    bool // the caller is the engine that the bridge is bound to
	Admin     bool
	Viewer    bool   // may read; an admin may too
	SessionID string // of an account's session; may be empty
}

// Deps is what the API serves. Host, Tags, DriverID, Authority, Accounts, Audit, License and Shell are required.
type Deps struct {
	Host       Host
	Tags       *tags.Engine
	DriverID   string
	DriverType string
	Passive    Passive // nil if the driver is not passive

	Authority Authority
	Accounts  Accounts
	Audit     *audit.Log
	License   *license.Service
	Shell     *shellconfig.Store
}

// Options are the options of [New]. The zero value works.
type Options struct {
	Name, Location, TenantID string // of the bridge, for people

	// Caller returns who makes a call. Default: a stranger.
	Caller func(ctx context.Context) Caller
	// SetupCode is what callers from other machines need for the first account; empty: they cannot make it.
	SetupCode string
	// AdmitData decides whether a request with data is taken now from its caller, whom the guard has let in. Default: each is.
	AdmitData func(ctx context.Context) error
	// BufferEnabled, BufferTTL: the offline buffer is on disk, and keeps entries so long.
	BufferEnabled bool
	BufferTTL     time.Duration
	// Settings returns the settings in force, without secrets. Default: none.
	Settings func() map[string]any

	Now func() time.Time // default: time.Now
	// Body wraps every handler, behind the guard. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of a bridge.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct {
	Deps
	o       Options
	started time.Time
	setup   chan struct{} // holds the one token of who may make the first account
	exports chan struct{} // holds the one token of who may export the shell, which strangers may, and which is much work with many tags
}

var _ gen.StrictServerInterface = (*handlers)(nil)

// New returns the API.
func New(d Deps, o Options) (*API, error) {
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"Host", d.Host == nil}, {"Tags", d.Tags == nil}, {"DriverID", d.DriverID == ""}, {"Authority", d.Authority == nil},
		{"Accounts", d.Accounts == nil}, {"Audit", d.Audit == nil}, {"License", d.License == nil}, {"Shell", d.Shell == nil},
	} {
		if need.missing {
			return nil, errors.New("bridgeapi: Deps." + need.name + " is required")
		}
	}
	if o.Caller == nil {
		o.Caller = func(context.Context) Caller { return Caller{} }
	}
	if o.AdmitData == nil {
		o.AdmitData = func(context.Context) error { return nil }
	}
	if o.Settings == nil {
		o.Settings = func() map[string]any { return map[string]any{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	h := &handlers{Deps: d, o: o, started: o.Now(), setup: make(chan struct{}, 1), exports: make(chan struct{}, 1)}
	h.setup <- struct{}{}
	h.exports <- struct{}{}
	return &API{handlers: h, body: o.Body}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withRemote},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
	r.Method(http.MethodPost, "/api/bridge/ingest/{driverId}", a.body(http.HandlerFunc(a.handlers.ingest)))
	r.Method(http.MethodGet, "/api/bridge/config/aas/export", a.body(http.HandlerFunc(a.handlers.exportShell)))
}

type remoteKey struct{}

// withRemote puts the caller's address, which throttling needs, into the context.
func withRemote(next gen.StrictHandlerFunc, _ string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, remoteKey{}, r.RemoteAddr), w, r, request)
	}
}

func remoteOf(ctx context.Context) string {
	remote, _ := ctx.Value(remoteKey{}).(string)
	return remote
}

package bridgepart

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/otkit/otkit/aas/shellconfig"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/discovery/license"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/bridgeapi"
	"github.com/otkit/otkit/transport/limit"
	"github.com/otkit/otkit/transport/remote"
	"github.com/otkit/otkit/transport/server"
)

// Host is the bridge. *bridge.Host is one.
type Host interface {
	bridgeapi.Host
	Authorized(secret string) bool
	Run(ctx context.Context)
	Drain(ctx context.Context) error
	Close(ctx context.Context) error
}

// Deps is what the part serves. All but Passive are required.
type Deps struct {
	Host     Host
	Tags     *tags.Engine
	Passive  bridgeapi.Passive // nil if the driver is not passive
	Accounts *accountspart.Accounts
	Audit    *audit.Log
	License  *license.Service
	Shell    *shellconfig.Store
}

// Options configure the part. DriverID is required.
type Options struct {
	DriverID, DriverType     string
	Name, Location, TenantID string // of the bridge, for people

	// BindSecret reports that a bind request needs a secret: the manifest of a free bridge is then for accounts only.
	BindSecret bool
	SetupCode  string // see bridgeapi.Options
	Ingest     IngestOptions

	BufferEnabled bool // the offline buffer is on disk
	BufferTTL     time.Duration
	Settings      func() map[string]any // see bridgeapi.Options

	AllowedHosts []string         // names, beside those of this machine, by which web pages may address the bridge; * for any
	CORSOrigins  []string         // of web pages, besides the bridge's own, that may call without a token; * for any
	Now          func() time.Time // default: time.Now
	Logger       *slog.Logger     // default: discards
}

// IngestOptions configure who may send data. The zero value admits this machine only, without a token.
type IngestOptions struct {
	Token         string          // that senders need
	From          remote.Networks // where senders are; empty: everywhere
	RatePerSecond int             // requests a second of all senders together, as many in a burst; default 100
}

// Part is the part. Make it with New.
type Part struct {
	deps  Deps
	o     Options
	hosts remote.Hosts
	rate  *rate.Limiter // of data
	begun time.Time

	strangers *limit.Rate
}

// New returns the part.
func New(d Deps, o Options) (*Part, error) {
	for _, need := range []struct {
		name    string
		missing bool
	}{
		{"Deps.Host", d.Host == nil}, {"Deps.Tags", d.Tags == nil}, {"Deps.Accounts", d.Accounts == nil}, {"Deps.Audit", d.Audit == nil},
		{"Deps.License", d.License == nil}, {"Deps.Shell", d.Shell == nil}, {"Options.DriverID", o.DriverID == ""},
	} {
		if need.missing {
			return nil, errors.New("bridgepart: " + need.name + " is required")
		}
	}
	if o.Ingest.RatePerSecond == 0 {
		o.Ingest.RatePerSecond = 100
	}
	if o.Ingest.RatePerSecond < 0 {
		return nil, errors.New("bridgepart: Options.Ingest.RatePerSecond must not be negative")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Part{deps: d, o: o, hosts: remote.NewHosts(o.AllowedHosts), begun: o.Now(),
		strangers: limit.NewRate(strangersPerSecond, o.Now),
		rate:      rate.NewLimiter(rate.Limit(o.Ingest.RatePerSecond), o.Ingest.RatePerSecond)}, nil
}

// Authenticator returns what determines who calls: the engine that the bridge is bound to, by its binding token or session key, and the
// local accounts.
func (p *Part) Authenticator() auth.Authenticator {
	return auth.First(auth.AuthenticatorFunc(p.engine), p.deps.Accounts.Authenticator())
}

const engineIssuer = "engine"

// engine returns the principal of the engine that the bridge is bound to. It has no role: only operations for any login take it.
func (p *Part) engine(_ context.Context, r auth.Request) (*auth.Principal, error) {
	token, ok := r.Token()
	if !ok || token == "" || !p.deps.Host.Authorized(token) {
		return nil, nil
	}
	id := p.deps.Host.Status().BoundEngineID
	if id == "" { // it was released in this moment
		return nil, nil
	}
	return &auth.Principal{Issuer: engineIssuer, Subject: id, Name: "engine " + id}, nil
}

// Part returns what the bridge contributes to a server. The host is closed with it.
func (p *Part) Part() server.Part {
	return server.Part{Name: "bridge", Operations: p.operations(), Audited: p.audited(), Routes: p.routes, Checks: p.checks(),
		Metrics: p.metrics(), StaticTokens: map[string]string{ingestOperation: p.o.Ingest.Token},
		Jobs: []func(context.Context){p.deps.Host.Run}, Drain: p.deps.Host.Drain, Close: p.deps.Host.Close}
}

func (p *Part) routes(r server.Router) error {
	d := p.deps
	api, err := bridgeapi.New(bridgeapi.Deps{Host: d.Host, Tags: d.Tags, DriverID: p.o.DriverID, DriverType: p.o.DriverType, Passive: d.Passive,
		Authority: authority{d.Accounts}, Accounts: d.Accounts.Service(), Audit: d.Audit, License: d.License, Shell: d.Shell},
		bridgeapi.Options{Name: p.o.Name, Location: p.o.Location, TenantID: p.o.TenantID, Caller: callerOf, SetupCode: p.o.SetupCode,
			AdmitData: p.admitData, BufferEnabled: p.o.BufferEnabled, BufferTTL: p.o.BufferTTL, Settings: p.o.Settings, Now: p.o.Now})
	if err != nil {
		return err
	}
	api.Mount(r)
	return nil
}

// callerOf returns who makes a call.
func callerOf(ctx context.Context) bridgeapi.Caller {
	from, _ := remote.From(ctx)
	c := bridgeapi.Caller{Local: from.Local}
	if p, ok := auth.From(ctx); ok {
		c.Engine = p.Issuer == engineIssuer
		c.Admin, c.Viewer, c.SessionID = p.Can(accounts.Admin), p.Can(accounts.Viewer), p.SessionID
	}
	return c
}

// authority issues the tokens of the accounts.
type authority struct{ accounts *accountspart.Accounts }

// Login implements bridgeapi.Authority.
func (a authority) Login(ctx context.Context, username, password, remote string) (bridgeapi.Grant, error) {
	g, err := a.accounts.Authority().Login(ctx, username, password, remote)
	return bridgeapi.Grant(g), err
}

// Refresh implements bridgeapi.Authority.
func (a authority) Refresh(ctx context.Context, refreshToken string) (bridgeapi.Grant, error) {
	g, err := a.accounts.Authority().Refresh(ctx, refreshToken)
	return bridgeapi.Grant(g), err
}

// Logout implements bridgeapi.Authority.
func (a authority) Logout(ctx context.Context) error { return a.accounts.Authority().Logout(ctx) }

// audited describes the operations to the audit log.
func (p *Part) audited() map[string]audited.Description {
	bridgeID := func(audited.Call) []string { return []string{p.deps.Host.Status().BridgeID} }
	binding := func(context.Context, audited.Call) any {
		s := p.deps.Host.Status()
		return map[string]string{"status": s.Status, "boundEngineId": s.BoundEngineID}
	}
	shell := func(context.Context, audited.Call) any {
		c, _ := p.deps.Shell.Get()
		return c
	}
	username := func(c audited.Call) []string {
		var body struct{ Username string }
		if !c.Decode(&body) || body.Username == "" {
			return nil
		}
		return []string{body.Username}
	}
	return map[string]audited.Description{
		"bind":            {Objects: bridgeID, Before: binding},
		"unbind":          {Objects: bridgeID, Before: binding},
		"putAASConfig":    {Before: shell},
		"setup":           {Objects: username, NoValues: true},
		"addAccount":      {Objects: username, NoValues: true},
		"changePassword":  {NoValues: true},
		"activateLicense": {Objects: bridgeID, NoValues: true},
	}
}

// Operations of the part, for the table of its server.
func (p *Part) operations() []auth.Operation {
	const base = "/api/bridge"
	get, post := http.MethodGet, http.MethodPost
	return []auth.Operation{
		{ID: "bind", Method: post, Path: base + "/bind", Access: auth.AnyRole, OpenSurface: true, OpenTo: p.anyone},
		{ID: "unbind", Method: http.MethodDelete, Path: base + "/bind", Access: auth.AnyRole},
		{ID: "getStatus", Method: get, Path: base + "/status", Access: auth.Open},
		{ID: "getManifest", Method: get, Path: base + "/manifest", Access: auth.AnyRole, OpenSurface: true, OpenTo: p.whoMayBind},
		{ID: ingestOperation, Method: post, Path: base + "/ingest/{driverId}", Access: auth.Admin, OpenSurface: true, OpenTo: p.whoMaySend,
			Unaudited: "data of devices, many times a second"},
		{ID: "getAASConfig", Method: get, Path: base + "/config/aas", Access: auth.Viewer},
		{ID: "putAASConfig", Method: http.MethodPut, Path: base + "/config/aas", Access: auth.Admin},
		{ID: "exportAAS", Method: get, Path: base + "/config/aas/export", Access: auth.Open},
		{ID: "getConfig", Method: get, Path: base + "/config", Access: auth.Viewer},
		{ID: "getMonitoring", Method: get, Path: base + "/monitoring/status", Access: auth.Viewer},
		{ID: "listTags", Method: get, Path: base + "/monitoring/tags", Access: auth.Viewer},
		{ID: "getBuffer", Method: get, Path: base + "/monitoring/buffer", Access: auth.Viewer},
		{ID: "getAuthState", Method: get, Path: base + "/auth/state", Access: auth.Open},
		{ID: "setup", Method: post, Path: base + "/auth/setup", Access: auth.AnyRole, OpenSurface: true, OpenTo: p.anyone},
		{ID: "login", Method: post, Path: base + "/auth/login", Access: auth.Open, Unaudited: "accounts report logins, also failed ones, with the account's name"},
		{ID: "refresh", Method: post, Path: base + "/auth/refresh", Access: auth.Open, Unaudited: "continues the session of a recorded login"},
		{ID: "logout", Method: post, Path: base + "/auth/logout", Access: auth.AnyRole, AuditOptional: true},
		{ID: "changePassword", Method: post, Path: base + "/auth/password", Access: auth.AnyRole},
		{ID: "listAccounts", Method: get, Path: base + "/auth/accounts", Access: auth.Admin},
		{ID: "addAccount", Method: post, Path: base + "/auth/accounts", Access: auth.Admin},
		{ID: "removeAccount", Method: http.MethodDelete, Path: base + "/auth/accounts/{name}", Access: auth.Admin},
		{ID: "listAudit", Method: get, Path: base + "/audit", Access: auth.Viewer},
		{ID: "verifyAudit", Method: get, Path: base + "/audit/verification", Access: auth.Viewer},
		{ID: "getLicense", Method: get, Path: base + "/license", Access: auth.Viewer},
		{ID: "activateLicense", Method: post, Path: base + "/license/activate", Access: auth.Admin},
	}
}

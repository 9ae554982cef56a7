package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/tracing"
)

// Options configure a Server. Only DataDir is required; without Stores everything else is kept in
// memory.
type Options struct {
	DataDir   string // signing keys and, unless ModelPath is set, the model file
	ModelPath string // the tag configuration's model file; default config/equipment_model.json in DataDir
	Stores    Stores
	Drivers   []Driver

	Listen       string       // TCP address; default :5001
	Listener     net.Listener // taken instead of Listen; the server closes it
	TLS          *tls.Config  // nil serves without TLS; see oneport.Certificates
	MaxConns     int          // open connections at once; default oneport.DefaultMaxConns
	MaxBodyBytes int64        // of one request; default 8 MiB
	MaxStreams   int          // open streams of one caller, gRPC and server-sent events together; default 100
	CORSOrigins  []string     // origins that browsers may call from; default none

	HeaderTimeout time.Duration // longest time for the head of a request; default 10 s
	IdleTimeout   time.Duration // between two requests on one connection; default 2 min

	Auth    AuthOptions
	History HistoryOptions

	Alerting    AlertingOptions
	AlarmMaxAge time.Duration // how long cleared alarms and their events are kept; default 400 days
	AlarmLimits alarms.Limits // what counts as too much in alarm analytics
	// DriverAlarms are the alarms of drivers that are offline. Now and Logger default to those below, Engine to
	// Alerting.Owner where the stores are shared.
	DriverAlarms alarms.DriverAlarmsOptions
	// WriteLogMaxAge is how long the outcomes of writes are kept, when the store can trim them.
	// Default 31 days.
	WriteLogMaxAge time.Duration

	// AAS is about the asset administration shells. Now and Logger default to those below, Values to the
	// tag engine.
	AAS        aas.Options
	TagMapping TagMapping // tags that become submodels

	Tracing tracing.Options  // Endpoint empty: no tracing
	Metrics *metrics.Metrics // default: new ones. Of one server only

	Logger    *slog.Logger // default: discards
	AccessLog bool         // one line for each HTTP request
	Now       func() time.Time
	Version   string // told in metrics, traces and logs
}

// Stores are where the server keeps what must last. Each may be an embedder's own; a nil one is in
// memory. A store that has to be closed is closed by who opened it, after Stop.
type Stores struct {
	Accounts accounts.Store
	Sessions accounts.SessionStore
	Writes   tags.WriteLog
	History  tags.HistoryStore

	Alarms      alarms.Store
	Resolutions alarms.ResolutionStore
	AlarmRules  alarms.RuleStore
	RuleStates  alarms.RuleStateStore

	Silences     alerting.SilenceStore
	AlertHistory alerting.HistoryStore
	Outbox       alerting.Outbox
	DeadLetters  alerting.DeadLetters

	// Shared is set where engines on other machines use the same stores; nil where this one has them for
	// itself.
	Shared *Shared

	AAS aas.Store

	// Ping says whether the stores can be used, for readiness. It may be nil.
	Ping func(ctx context.Context) error
}

// Shared is what engines that share their stores need besides: each tells its subscribers and browsers
// of the alarms of all, and accepts the tokens that any of them has signed. All members but Poll are
// required.
type Shared struct {
	Keys  accounts.KeyStore
	Board alerting.Board
	Poll  time.Duration // how often what others have stored is looked for; default 250 ms
}

// Driver is one driver of the tag engine.
type Driver struct {
	ID      string
	Driver  tags.Driver
	Options tags.DriverOptions // Tags are what the driver knows of its tags; the tag configuration is laid over them
}

// AuthOptions configure who may do what.
type AuthOptions struct {
	AdminUsername       string        // of the account that is made when there is none; default admin
	AdminPassword       string        // of that account; empty makes a random one, see Server.FirstPassword
	Issuer              string        // claim iss of our tokens; default otkit
	Audience            string        // claim aud of our tokens; default otkit
	AccessTTL           time.Duration // life of an access token; default 60 minutes
	RefreshTTL          time.Duration // life of a session; default that of accounts.Options
	ProtectOpenSurfaces bool          // ask for a token also where the interface needs none
	OIDC                *auth.OIDC    // accept tokens of this outside issuer as well
}

// HistoryOptions configure the history of tag values.
type HistoryOptions struct {
	Disabled   bool
	MaxAge     time.Duration // default 31 days; negative for no limit
	MaxBytes   int64         // default 1 GiB; negative for no limit
	FlushEvery time.Duration // longest time that a sample waits to be stored; default 1 s
}

// AlertingOptions configure who is told of alarms. The dashboard channel, which is the hub
// /hubs/alarms, is always there.
type AlertingOptions struct {
	Channels  []alerting.Channel
	Routes    alerting.Routes                  // default alerting.DefaultRoutes
	Templates map[string]alerting.TemplateText // by channel; "" for all the others
	Flood     map[string]alerting.Flood        // by channel; "" for all the others
	// Owner names this engine among those that share a database; see alerting.Options. Default: a name
	// that is kept in the data directory.
	Owner         string
	HistoryMaxAge time.Duration // how long records of completed alerts are kept; default 400 days
	// WebhookToken is a bearer token that the webhook takes besides those of accounts, where open
	// surfaces are protected.
	WebhookToken string
}

func (o Options) withDefaults() (Options, error) {
	if o.DataDir == "" {
		return o, errors.New("server: Options.DataDir is required")
	}
	o.ModelPath = cmp.Or(o.ModelPath, filepath.Join(o.DataDir, "config", "equipment_model.json"))
	o.Listen = cmp.Or(o.Listen, ":5001")
	o.Auth.AdminUsername = cmp.Or(o.Auth.AdminUsername, "admin")
	o.Auth.Issuer = cmp.Or(o.Auth.Issuer, "otkit")
	o.Auth.Audience = cmp.Or(o.Auth.Audience, "otkit")
	o.Version = cmp.Or(o.Version, "dev")
	if o.MaxStreams < 0 {
		return o, errors.New("server: Options.MaxStreams must not be negative")
	}
	if err := o.TagMapping.withDefaults(); err != nil {
		return o, err
	}
	o.MaxStreams = cmp.Or(o.MaxStreams, 100)
	o.AlarmMaxAge = cmp.Or(o.AlarmMaxAge, 400*24*time.Hour)
	o.Alerting.HistoryMaxAge = cmp.Or(o.Alerting.HistoryMaxAge, 400*24*time.Hour)
	o.WriteLogMaxAge = cmp.Or(o.WriteLogMaxAge, 31*24*time.Hour)
	if o.Metrics == nil {
		o.Metrics = metrics.New(metrics.Options{Version: o.Version})
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if (o.Stores.Accounts == nil) != (o.Stores.Sessions == nil) {
		return o, errors.New("server: Options.Stores.Accounts and Sessions go together: removing an account ends its sessions")
	}
	if o.Stores.Accounts == nil {
		memory := accounts.NewMemory()
		o.Stores.Accounts, o.Stores.Sessions = memory, memory
	}
	if err := o.Stores.shareDefaults(); err != nil {
		return o, err
	}
	o.Stores.alarmDefaults()
	if o.Stores.AAS == nil {
		o.Stores.AAS = aas.NewMemory()
	}
	if o.Stores.Writes == nil {
		o.Stores.Writes = tags.NewMemoryWriteLog(10_000)
	}
	if o.Stores.History == nil && !o.History.Disabled {
		o.Stores.History = tags.NewMemoryHistory()
	}
	seen := make(map[string]bool)
	for _, d := range o.Drivers {
		if d.Driver == nil {
			return o, errors.New("server: Options.Drivers has a nil Driver")
		}
		if seen[d.ID] {
			return o, tags.ErrDriverExists.On("driverId", d.ID)
		}
		seen[d.ID] = true
	}
	return o, nil
}

func (s *Stores) shareDefaults() error {
	if s.Shared == nil {
		return nil
	}
	shared := *s.Shared
	switch {
	case shared.Keys == nil || shared.Board == nil:
		return errors.New("server: Options.Stores.Shared needs Keys and Board")
	case shared.Poll < 0:
		return errors.New("server: Options.Stores.Shared.Poll must not be negative")
	}
	shared.Poll = cmp.Or(shared.Poll, 250*time.Millisecond)
	s.Shared = &shared
	return nil
}

// alarmDefaults keeps alarms in memory where no store is given.
func (s *Stores) alarmDefaults() {
	if s.Alarms == nil || s.Resolutions == nil || s.AlarmRules == nil || s.RuleStates == nil {
		memory := alarms.NewMemory()
		fill(&s.Alarms, alarms.Store(memory))
		fill(&s.Resolutions, alarms.ResolutionStore(memory))
		fill(&s.AlarmRules, alarms.RuleStore(memory))
		fill(&s.RuleStates, alarms.RuleStateStore(memory))
	}
	if s.Silences == nil || s.AlertHistory == nil || s.Outbox == nil || s.DeadLetters == nil {
		memory := alerting.NewMemory()
		fill(&s.Silences, alerting.SilenceStore(memory))
		fill(&s.AlertHistory, alerting.HistoryStore(memory))
		fill(&s.Outbox, alerting.Outbox(memory))
		fill(&s.DeadLetters, alerting.DeadLetters(memory))
	}
}

// fill sets what is nil.
func fill[T comparable](store *T, value T) {
	var none T
	if *store == none {
		*store = value
	}
}

// errStopping ends streams when the server stops; clients that get it may try another server.
var errStopping = fault.New(fault.Unavailable, "SERVER_STOPPING", "the server is stopping")

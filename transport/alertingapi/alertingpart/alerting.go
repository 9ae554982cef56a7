package alertingpart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
)

// Options configure who is notified of alarms. Owner is required; without stores everything is kept in memory.
type Options struct {
	Silences    silences.Store
	History     history.Store // alerts of other systems are received if it implements history.ReceiverStore
	Outbox      outbox.Store
	DeadLetters outbox.DeadLetters // default: Outbox, if it lists dead letters

	// Owner names this engine among those that share a database; see dispatch.Options and [EngineName]. With Cluster it is the id of the engine there.
	Owner string
	// Cluster has the engines that share the stores; nil if this one has them for itself. They must have the same channels and routes.
	Cluster    *clusterpart.Cluster
	Channels   []alerting.Channel
	Routes     alerting.Routes                  // default alerting.DefaultRoutes
	Unrouted   []string                         // channels that notify of no alarm; any other one must be in Routes
	Templates  map[string]alerting.TemplateText // by channel; "" for all the others
	RateLimits map[string]alerting.RateLimit    // by channel; "" for all the others

	HistoryMaxAge time.Duration // how long records of completed alerts are kept; default 400 days
	LateWindow    time.Duration // see alertsource.Options
	MaxActive     int           // see alertsource.Options
	// See MaxAnonymous and MaxAnonymousLife of silences.Options.
	MaxSilences    int
	SilenceMaxLife time.Duration
	// WebhookToken is a bearer token that the webhook takes besides those of accounts, from everywhere.
	WebhookToken string

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o *Options) setDefaults() {
	if o.Silences == nil {
		o.Silences = silences.NewMemory()
	}
	if o.History == nil {
		o.History = history.NewMemory()
	}
	if o.Outbox == nil {
		o.Outbox = outbox.NewMemory()
	}
	if o.HistoryMaxAge == 0 {
		o.HistoryMaxAge = 400 * 24 * time.Hour
	}
	if o.Cluster != nil {
		o.Owner = o.Cluster.Engine()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// alive returns what tells which engines run; nil if this one has the stores for itself.
func (o *Options) alive() func() []string {
	if o.Cluster == nil {
		return nil
	}
	return o.Cluster.Alive
}

// Alerting is the part. Make it with New.
type Alerting struct {
	opts       Options
	shown      map[alarms.Severity]bool // on the dashboard
	alarms     *alarmspart.Alarms
	silences   *silences.Service
	history    *history.Service
	webhook    *alertsource.Receiver // nil if the history cannot receive alerts
	dispatcher *dispatch.Dispatcher
}

// New opens the alerting of alarms.
func New(_ context.Context, a *alarmspart.Alarms, o Options) (*Alerting, error) {
	if a == nil {
		return nil, errors.New("alerting: New: the alarms are nil")
	}
	o.setDefaults()
	p := &Alerting{opts: o, alarms: a}
	if _, limited := o.RateLimits[alerting.ChannelDashboard]; limited {
		o.Logger.Warn("the limit of messages to the dashboard is ignored: it follows the alarm journal", "channel", alerting.ChannelDashboard)
	}
	p.opts.Routes, p.shown = withoutDashboard(o.Routes)
	if err := p.open(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Alerting) open() (err error) {
	o := p.opts
	if p.silences, err = silences.New(o.Silences, silences.Options{Now: o.Now, MaxAnonymous: o.MaxSilences,
		MaxAnonymousLife: o.SilenceMaxLife, OnFull: p.silencesFull}); err != nil {
		return err
	}
	if p.history, err = history.New(o.History); err != nil {
		return err
	}
	if received, ok := o.History.(history.ReceiverStore); ok {
		p.webhook, err = alertsource.New(p.alarms.Service(), received, p.silences, alertsource.Options{Now: o.Now, Logger: o.Logger,
			LateWindow: o.LateWindow, MaxActive: o.MaxActive})
		if err != nil {
			return err
		}
	} else {
		o.Logger.Info("alert webhook disabled: the alert history does not implement history.ReceiverStore")
	}
	p.dispatcher, err = dispatch.New(dispatch.Deps{
		Journal: p.alarms.Service(), Outbox: o.Outbox, DeadLetters: o.DeadLetters,
		Silences: p.silences, History: o.History, Channels: o.Channels,
	}, dispatch.Options{Now: o.Now, Logger: o.Logger, Routes: o.Routes, Unrouted: o.Unrouted, Templates: o.Templates,
		RateLimits: o.RateLimits, DigestLink: o.digestLink(), Owner: o.Owner, Alive: o.alive(), OnDeadLetter: p.alarmDeadLetters})
	if err != nil {
		return fmt.Errorf("alerting: %w", err)
	}
	return nil
}

// Silences returns the silences.
func (p *Alerting) Silences() *silences.Service { return p.silences }

// ShowsOnDashboard reports whether the routes name the dashboard for alarms of a severity. It is not a
// channel of the dispatcher: it follows the alarm journal by itself.
func (p *Alerting) ShowsOnDashboard(s alarms.Severity) bool { return p.shown[s] }

// withoutDashboard returns routes without the dashboard, and the severities whose routes name it.
func withoutDashboard(routes alerting.Routes) (alerting.Routes, map[alarms.Severity]bool) {
	all := alerting.DefaultRoutes()
	maps.Copy(all, routes)
	shown := make(map[alarms.Severity]bool)
	for severity, channels := range all {
		shown[severity] = slices.Contains(channels, alerting.ChannelDashboard)
		all[severity] = slices.DeleteFunc(slices.Clone(channels), func(c string) bool { return c == alerting.ChannelDashboard })
	}
	return all, shown
}

// Part returns what alerting contributes to a server.
func (p *Alerting) Part() server.Part {
	o := p.opts
	return server.Part{Name: "alerting", Operations: Operations(), Audited: alertingapi.Audited(p.silences), Routes: p.routes,
		StaticTokens: map[string]string{WebhookOperation: o.WebhookToken, webhookHealth: o.WebhookToken},
		Checks:       []health.Check{{Name: "alerting", Ready: true, Run: p.check}},
		Metrics:      []prometheus.Collector{newChannelCollector(p.dispatcher), newSilenceCollector(p.silences)},
		Start:        p.dispatcher.Start,
		Jobs: []func(context.Context){p.wake,
			server.Every(time.Minute, o.Logger, "failed to check the limits of alerts and silences", p.maintain),
			o.Cluster.Once("alert-history-trim", server.Every(time.Hour, o.Logger, "failed to remove old records of alerts", func(ctx context.Context) error {
				return p.history.Trim(ctx, o.Now().Add(-o.HistoryMaxAge))
			}))},
		Drain: p.drain}
}

func (p *Alerting) routes(r server.Router) error {
	api, err := alertingapi.New(alertingapi.Deps{Silences: p.silences, History: p.history, Webhook: p.webhook, Dispatcher: p.dispatcher},
		alertingapi.Options{Caller: caller, Logger: p.opts.Logger})
	if err != nil {
		return err
	}
	api.Mount(r)
	return nil
}

// caller returns the name of who makes a call, and whether it has a token.
func caller(ctx context.Context) (string, bool) {
	_, known := auth.From(ctx)
	return auth.NameOf(ctx), known
}

// wake wakes the dispatcher when there are alarms, until ctx ends.
func (p *Alerting) wake(ctx context.Context) {
	_ = p.alarms.Service().Follow(ctx, alarms.SubscribeOptions{All: true}, func([]alarms.Event) { p.dispatcher.Wake() }) // it ends with ctx or the service
}

// drain ends the dispatcher; what it has not sent stays in the outbox.
func (p *Alerting) drain(ctx context.Context) error { return p.dispatcher.Close(ctx) }

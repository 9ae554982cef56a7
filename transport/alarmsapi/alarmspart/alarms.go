package alarmspart

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/alarmsapi"
	"github.com/otkit/otkit/transport/alarmsapi/alarmsgrpc"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options are the options of [New]. With the zero Options everything is in memory.
type Options struct {
	Alarms      alarms.Store
	Resolutions alarms.ResolutionStore
	Rules       rules.Store
	RuleStates  rules.StateStore

	// DataDir is the directory of the file of pending alarms. Without it, alarms that cannot be stored are lost at a
	// restart.
	DataDir string
	// Cluster has the engines that share the stores and the drivers; nil if this one has them for itself.
	Cluster *clusterpart.Cluster
	// Poll is how often the stores are read for changes of other engines; 0 if no other engine uses them.
	Poll   time.Duration
	MaxAge time.Duration // how long cleared alarms and their events are kept; default 400 days
	Limits alarms.Limits // limits of alarm analytics
	// Drivers are the options of alarms for offline drivers. Now and Logger default to those below.
	Drivers driveralarms.Options

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

func (o *Options) setDefaults() {
	if o.Alarms == nil || o.Resolutions == nil || o.Rules == nil || o.RuleStates == nil {
		memory := alarms.NewMemory()
		ruleMemory := rules.NewMemory(memory)
		if o.Alarms == nil {
			o.Alarms = memory
		}
		if o.Resolutions == nil {
			o.Resolutions = memory
		}
		if o.Rules == nil {
			o.Rules = ruleMemory
		}
		if o.RuleStates == nil {
			o.RuleStates = ruleMemory
		}
	}
	if o.MaxAge == 0 {
		o.MaxAge = 400 * 24 * time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Drivers.Now == nil {
		o.Drivers.Now = o.Now
	}
	if o.Drivers.Logger == nil {
		o.Drivers.Logger = o.Logger
	}
}

// Alarms is the part. New returns one.
type Alarms struct {
	opts    Options
	service *alarms.Service
	rules   *rules.Service
	drivers *driveralarms.Monitor
	plant   *plant // nil for an engine that is alone, as engines is
	engines *enginealarms.Monitor
	pending *pendingFile // nil for none
}

// New opens the alarms and starts to evaluate the rules. The tags are required.
func New(ctx context.Context, t *tagspart.Tags, o Options) (*Alarms, error) {
	if t == nil {
		return nil, errors.New("alarms: New: the tags are nil")
	}
	o.setDefaults()
	a := &Alarms{opts: o}
	if err := a.open(ctx, t); err != nil {
		ctx = context.WithoutCancel(ctx)
		return nil, errors.Join(err, a.drain(ctx), a.close(ctx))
	}
	return a, nil
}

// typeBridge is the type of the drivers of bound bridges, whose alarms the part for discovery raises.
const typeBridge = "Bridge"

// maxShelved is the longest time for which an alarm may be shelved.
const maxShelved = 7 * 24 * time.Hour

func (a *Alarms) open(ctx context.Context, t *tagspart.Tags) (err error) {
	o := a.opts
	a.service, err = alarms.New(ctx, o.Alarms, alarms.Options{Logger: o.Logger, Now: o.Now, Resolutions: o.Resolutions, Limits: o.Limits,
		PollInterval: o.Poll, MaxTimeShelved: maxShelved})
	if err != nil {
		return fmt.Errorf("alarms: %w", err)
	}
	a.rules, err = rules.New(ctx, o.Rules, a.service, rules.Options{Logger: o.Logger, Now: o.Now,
		States: o.RuleStates, Pending: a.openPending(), Current: t.Current, PollInterval: o.Poll, Shared: t.Shared()})
	if err != nil {
		return fmt.Errorf("alarm rules: %w", err)
	}
	t.Observe(a.rules.Observe)
	t.Accompany(tagspart.Companion{Begin: a.adopt, End: a.yield})
	t.AddReferences(a.references)
	o.Drivers.ExcludeTypes = append(slices.Clone(o.Drivers.ExcludeTypes), typeBridge)
	if o.Cluster != nil {
		a.plant = &plant{cluster: o.Cluster}
		if a.engines, err = enginealarms.New(a.plant, onDuty{a.service, o.Cluster}, enginealarms.Options{Logger: o.Logger, Now: o.Now}); err != nil {
			return err
		}
		o.Drivers.Engine, o.Drivers.Plant = o.Cluster.Engine(), a.plant
	}
	a.drivers, err = driveralarms.New(t.Engine(), a.service, o.Drivers)
	return err
}

// adopt begins the evaluation of the rules of a driver, or leaves it as it was.
func (a *Alarms) adopt(ctx context.Context, driver string, lease *cluster.Held) error {
	err := a.rules.Adopt(ctx, driver, lease.Epoch, lease.Valid)
	if err != nil {
		a.rules.Abandon(driver)
	}
	return err
}

// yield ends the evaluation of the rules of a driver.
func (a *Alarms) yield(ctx context.Context, driver string, moved bool) {
	if moved {
		if err := a.rules.Yield(ctx, driver); err == nil {
			return
		}
	}
	a.rules.Abandon(driver)
}

// openPending returns nil if there is no file; the server starts without it.
func (a *Alarms) openPending() rules.PendingStore {
	if a.opts.DataDir == "" {
		return nil
	}
	var err error
	if a.pending, err = openPendingFile(a.opts.DataDir); err != nil {
		a.opts.Logger.Warn("failed to open the file of pending alarms; a restart would lose alarms that cannot be stored", "error", err)
		return nil
	}
	return a.pending
}

// Service returns the alarms.
func (a *Alarms) Service() *alarms.Service { return a.service }

// Rules returns the alarm rules.
func (a *Alarms) Rules() *rules.Service { return a.rules }

// Part returns what the alarms contribute to a server.
func (a *Alarms) Part() server.Part {
	return server.Part{Name: "alarms", Operations: Operations(), Audited: alarmsapi.Audited(a.rules), Routes: a.routes, GRPC: a.grpc,
		Checks: []health.Check{
			{Name: "alarm-rules", Run: a.checkRules},
			{Name: "alarm-journal", Ready: true, Run: a.checkJournal},
		},
		Metrics: []prometheus.Collector{newAlarmCollector(a.service)},
		Jobs:    a.jobs(),
		Drain:   a.drain, Close: a.close}
}

func (a *Alarms) jobs() []func(context.Context) {
	o := a.opts
	trim := server.Every(time.Hour, o.Logger, "failed to remove old alarms", func(ctx context.Context) error {
		return a.service.Trim(ctx, o.Now().Add(-o.MaxAge))
	})
	jobs := []func(context.Context){a.drivers.Run, a.log, o.Cluster.Once("alarms-trim", trim)}
	if a.plant != nil {
		stand := func(ctx context.Context) { a.plant.stand(ctx, a.engines) }
		jobs = append(jobs, o.Cluster.Once(jobDriverAlarms, stand))
	}
	return jobs
}

func (a *Alarms) routes(r server.Router) error {
	api, err := alarmsapi.New(a.service, a.rules, alarmsapi.Options{Caller: auth.NameOf, Now: a.opts.Now})
	if err != nil {
		return err
	}
	api.Mount(r)
	return nil
}

func (a *Alarms) grpc(r grpc.ServiceRegistrar) error {
	api, err := alarmsgrpc.New(a.service, alarmsgrpc.Options{Caller: auth.NameOf})
	if err != nil {
		return err
	}
	api.Register(server.Methods(r, "GetAlarms", "SubscribeAlarms", "GetAlarmHistory", "AcknowledgeAlarm", "AcknowledgeAlarms"))
	return nil
}

// log writes a line for each alarm that is raised or cleared, until ctx ends.
func (a *Alarms) log(ctx context.Context) {
	_ = a.service.Follow(ctx, alarms.SubscribeOptions{All: true}, func(events []alarms.Event) { // ends with ctx or the service
		for i := range events {
			logAlarm(ctx, a.opts.Logger, &events[i])
		}
	})
}

func logAlarm(ctx context.Context, log *slog.Logger, e *alarms.Event) {
	what := "alarm raised"
	switch {
	case e.Kind.Ends():
		what = "alarm cleared"
	case e.Kind != alarms.Raised:
		return
	}
	o := &e.Occurrence
	log.LogAttrs(ctx, slog.LevelInfo, what, slog.String("alarm", o.ID), slog.Int64("code", o.Code), slog.String("source", o.Source),
		slog.String("severity", o.Severity.String()), slog.String("message", o.Message), slog.String("by", e.By))
}

// drain closes the rules, which raise the last alarms.
func (a *Alarms) drain(ctx context.Context) error {
	var errs []error
	if a.rules != nil {
		errs = append(errs, a.rules.Close(ctx))
	}
	if a.pending != nil {
		errs = append(errs, a.pending.Close())
	}
	return errors.Join(errs...)
}

func (a *Alarms) close(ctx context.Context) error {
	if a.service == nil {
		return nil
	}
	return a.service.Close(ctx)
}

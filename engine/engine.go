package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/console"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/hubs/hubspart"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/derivedpart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Engine is a server with all parts. Make it with New, then Run it; or Start it, serve its Handler,
// and Close it.
type Engine struct {
	*server.Server
	opts     Options
	password string // of the admin account that New made, when it chose it

	audit      *auditpart.Audit
	accounts   *accountspart.Accounts // nil WithoutAccounts
	cluster    *clusterpart.Cluster   // nil if the engine is alone
	engines    *clusterpart.Engines
	tags       *tagspart.Tags
	derived    *derivedpart.Derived
	alarms     *alarmspart.Alarms
	alerting   *alertingpart.Alerting
	aas        *aaspart.AAS
	devices    *devicespart.Devices
	discovery  *discoverypart.Discovery
	predictive *predictivepart.Predictive
	hubs       *hubspart.Hubs
	notices    *notices

	storageFails atomic.Bool // as the last check found, for the log
}

// New returns an engine. It creates and locks the data directory, opens the model file and the signing
// keys, creates the first account if there is none, starts the drivers and opens the port that Options
// name, if any. The context bounds New alone; the engine runs until Close.
//
// Call Start, Run or Serve next. Before that no job runs, such as the sending of notifications;
// the Handler and the gRPC services answer, and health is Unhealthy. If New fails, it closes what it
// has opened.
func New(ctx context.Context, o Options) (*Engine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	e := &Engine{opts: o}
	parts, err := e.parts(ctx)
	if err != nil {
		return nil, errors.Join(err, server.CloseParts(context.WithoutCancel(ctx), parts...))
	}
	so := e.opts.Server
	so.Audit = e.audit.Log()
	so.Authenticator, so.OnRefused = o.authenticator(e.accounts), e.notices.onRefused(so.OnRefused)
	if e.Server, err = server.New(ctx, so, append(parts, o.Parts...)...); err != nil {
		return nil, err
	}
	if e.accounts != nil {
		// The account comes last: a start that fails must not leave one whose password nobody has seen.
		if e.password, err = e.accounts.EnsureAdmin(ctx); err != nil {
			return nil, errors.Join(err, e.Close(context.WithoutCancel(ctx)))
		}
	}
	return e, nil
}

// parts makes the parts, each with those that it needs. The order is that in which they drain: what a
// part hands on while it drains, a later one still takes.
func (e *Engine) parts(ctx context.Context) (list []server.Part, err error) {
	o := &e.opts
	if !dirlock.IsHeld(ctx, o.DataDir) {
		unlock, err := dirlock.Lock(o.DataDir)
		if err != nil {
			return nil, fmt.Errorf("engine: Options.DataDir: %w", err)
		}
		// The first part is the last that closes.
		list = append(list, server.Part{Name: "data directory", Close: func(context.Context) error { return unlock() }})
	}
	if err := o.owner(); err != nil {
		return list, err
	}
	if err := e.join(ctx); err != nil {
		return list, err
	}
	if e.cluster != nil { // it gives the work away before the parts that do it drain
		list = append(list, e.cluster.Part())
		o.Accounts.Cluster, o.Tags.Cluster, o.Alarms.Cluster, o.Alerting.Cluster = e.cluster, e.cluster, e.cluster, e.cluster
		o.Discovery.Cluster, o.Predictive.Cluster, o.Devices.Cluster = e.cluster, e.cluster, e.cluster
	}
	if e.audit, err = auditpart.New(o.Audit); err != nil {
		return list, err
	}
	list = append(list, e.audit.Part())
	if !o.WithoutAccounts {
		o.Accounts.OnLogin = both(e.audit.OnLogin, o.Accounts.OnLogin)
		o.Accounts.OnSignOut = both(e.audit.OnSignOut, o.Accounts.OnSignOut)
		if e.accounts, err = accountspart.New(ctx, o.Accounts); err != nil {
			return list, err
		}
		list = append(list, e.accounts.Part())
	}
	if o.Console {
		page, err := console.New(console.Assets())
		if err != nil {
			return list, err
		}
		list = append(list, page.Part())
	}
	o.Tags.OnMaxWithoutToken = e.onMaxTags
	o.Tags.OnModelFile, o.Tags.OnImport = e.onModelFile(o.Tags.OnModelFile), e.onImport(o.Tags.OnImport)
	if e.tags, err = tagspart.New(ctx, o.Tags); err != nil {
		return list, err
	}
	list = append(list, e.tags.Part())
	if e.derived, err = derivedpart.New(ctx, e.tags, o.Derived); err != nil {
		return list, err
	}
	list = append(list, e.derived.Part())
	if e.alarms, err = alarmspart.New(ctx, e.tags, o.Alarms); err != nil {
		return list, err
	}
	list = append(list, e.alarms.Part())
	e.notices = newNotices(e.alarms.Service(), o.Server.Now, o.Server.Logger)
	if e.alerting, err = alertingpart.New(ctx, e.alarms, o.Alerting); err != nil {
		return list, err
	}
	list = append(list, e.alerting.Part())
	if e.aas, err = aaspart.New(ctx, e.tags, o.AAS); err != nil {
		return list, err
	}
	list = append(list, e.aas.Part())
	if e.devices, err = devicespart.New(ctx, e.tags, e.alarms, e.aas, o.Devices); err != nil {
		return list, err
	}
	list = append(list, e.devices.Part())
	o.Discovery.Endpoint = discoverypart.Endpoint{Addr: e.addr, TLS: o.Server.TLS}
	if e.discovery, err = discoverypart.New(ctx, e.tags, e.alarms, e.aas, o.Discovery); err != nil {
		return list, err
	}
	list = append(list, e.discovery.Part())
	if e.predictive, err = predictivepart.New(ctx, e.tags, e.alarms, o.Predictive); err != nil {
		return list, err
	}
	list = append(list, e.predictive.Part())
	o.Hubs.Equipment = append(slices.Clip(o.Hubs.Equipment), e.discovery)
	if e.hubs, err = hubspart.New(ctx, e.tags, e.alarms, e.alerting, e.aas, e.devices, o.Hubs); err != nil {
		return list, err
	}
	return append(list, e.hubs.Part(), e.engines.Part(), e.own()), nil
}

// join joins the engines that share the plant, if there are any.
func (e *Engine) join(ctx context.Context) (err error) {
	var o clusterpart.Options
	alone := e.opts.Shared == nil || e.opts.Shared.Cluster == nil
	if !alone {
		o = *e.opts.Shared.Cluster
	}
	e.opts.Server.Inherit(&o.Now, &o.Logger)
	o.Engine, o.Version = cmp.Or(o.Engine, e.opts.Discovery.EngineID), cmp.Or(o.Version, e.opts.Server.Version, version.String())
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil && !alone {
			return fmt.Errorf("engine: Options.Shared.Cluster.Host: %w", err)
		}
	}
	if o.Name == "" { // several engines may run on a host
		o.Name = o.Host + "-" + o.Engine[:min(4, len(o.Engine))]
	}
	o.DrainFile = cmp.Or(o.DrainFile, filepath.Join(e.opts.DataDir, DrainFile))
	if !alone {
		if e.cluster, err = clusterpart.New(ctx, o); err != nil {
			return err
		}
	}
	return e.showEngines(o)
}

// addr returns where the server listens, nil if it does not, for calls that come once it is made.
func (e *Engine) addr() net.Addr { return e.Server.Addr() }

// both returns what records an event, and reports it to the embedder.
func both(record, own func(context.Context, accounts.LoginEvent)) func(context.Context, accounts.LoginEvent) {
	return func(ctx context.Context, event accounts.LoginEvent) {
		record(ctx, event)
		if own != nil {
			own(ctx, event)
		}
	}
}

// Audit returns the audit log, for programs that embed the engine.
func (e *Engine) Audit() *audit.Log { return e.audit.Log() }

// InitialAdminPassword returns the password of the admin account that New made, when there was no
// account and no password was set; else it is empty. Show it to the operator once: it is kept nowhere.
func (e *Engine) InitialAdminPassword() string { return e.password }

// Tags returns the tag engine, for programs that embed the engine.
func (e *Engine) Tags() *tags.Engine { return e.tags.Engine() }

// DerivedTags returns the tags that are computed from others, for programs that embed the engine.
func (e *Engine) DerivedTags() *derived.Service { return e.derived.Service() }

// Drivers returns the drivers, for programs that embed the engine.
func (e *Engine) Drivers() *drivers.Service { return e.tags.DriverService() }

// Alarms returns the alarms, for programs that embed the engine.
func (e *Engine) Alarms() *alarms.Service { return e.alarms.Service() }

// AlarmRules returns the alarm rules, for programs that embed the engine.
func (e *Engine) AlarmRules() *rules.Service { return e.alarms.Rules() }

// AAS returns the asset administration shells, for programs that embed the engine.
func (e *Engine) AAS() *repository.Service { return e.aas.Service() }

// Devices returns the devices, for programs that embed the engine.
func (e *Engine) Devices() *devices.Service { return e.devices.Service() }

// Discovery returns the bridges, for programs that embed the engine.
func (e *Engine) Discovery() *discovery.Service { return e.discovery.Service() }

// Predictive returns the predictions, for programs that embed the engine.
func (e *Engine) Predictive() *predictive.Service { return e.predictive.Service() }

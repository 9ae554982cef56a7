package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/aasapi/aaspart"
	"github.com/otkit/otkit/transport/accountsapi/accountspart"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/auditapi/auditpart"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/discoveryapi/discoverypart"
	"github.com/otkit/otkit/transport/hubs/hubspart"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/derivedpart"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// Options configure an Engine. Only DataDir is required; without stores everything else is kept in
// memory. Whoever opens a store closes it, after Close.
type Options struct {
	// DataDir has the signing keys, the engine's name, the models of predictions and, unless Tags.ModelPath is set, the model file.
	// New creates it with mode 0700 if it is missing, and locks it: one engine at a time. Required.
	DataDir string

	// Name is what people call the engine, such as the name of its plant. The console shows it. It may be empty.
	Name string

	// Server is about the port, TLS, limits and logs. Its Authenticator may be nil. It is asked before
	// the accounts, or instead of them if WithoutAccounts is set.
	Server server.Options

	// The parts. Their Now and Logger default to those of the server, their DataDir to that above.
	Audit      auditpart.Options
	Accounts   accountspart.Options
	Tags       tagspart.Options
	Derived    derivedpart.Options
	Alarms     alarmspart.Options
	Alerting   alertingpart.Options
	AAS        aaspart.Options
	Devices    devicespart.Options
	Discovery  discoverypart.Options  // its EngineID is made of the DataDir
	Predictive predictivepart.Options // its ModelDir defaults to the folder models in the DataDir
	Hubs       hubspart.Options
	Parts      []server.Part // of the embedder; they drain after the others and close before them

	// Console serves the web console at /. It needs the accounts.
	Console bool
	// WithoutAccounts leaves out the accounts with their routes; Server.Authenticator is required then.
	WithoutAccounts bool

	// Shared is set where engines on other machines use the same stores; nil where this one has them for
	// itself.
	Shared *Shared
	// Ping reports whether the stores can be used, for readiness. It may be nil.
	Ping func(ctx context.Context) error
	// Shortage returns why the stores' disk has too little space, for health; empty if it has enough. It
	// may be nil.
	Shortage func() string
}

// ModelFolder is the folder in the DataDir with the models of predictions.
const ModelFolder = "models"

// DrainFile is the name of the file in the DataDir that is there while an engine is to give its work to others; see clusterpart.Options.
const DrainFile = "drain"

// Shared is what engines need in addition if they share stores: each publishes to its subscribers and
// browsers the alarms of all, and accepts the tokens that any of them has signed. Keys is required.
type Shared struct {
	Keys accounts.KeyStore
	Poll time.Duration // how often to look for what others have stored; default 250 ms

	// Cluster is set if the engines share all stores, and so the plant: each driver, bridge and device is then served by one of them, and all
	// show the same. Its Engine, Host and Version have defaults. Nil: each engine has drivers of its own.
	Cluster *clusterpart.Options
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.DataDir == "":
		return o, errors.New("engine: Options.DataDir is required")
	case o.WithoutAccounts && o.Server.Authenticator == nil:
		return o, errors.New("engine: Options.Server.Authenticator is required when WithoutAccounts is set")
	case o.WithoutAccounts && o.Console:
		return o, errors.New("engine: Options.Console needs the accounts, which WithoutAccounts leaves out")
	}
	if err := o.share(); err != nil {
		return o, err
	}
	for _, p := range []struct {
		now *func() time.Time
		log **slog.Logger
	}{
		{&o.Audit.Now, &o.Audit.Logger}, {&o.Accounts.Now, &o.Accounts.Logger}, {&o.Tags.Now, &o.Tags.Logger}, {&o.Derived.Now, &o.Derived.Logger}, {&o.Alarms.Now, &o.Alarms.Logger},
		{&o.Alerting.Now, &o.Alerting.Logger}, {&o.AAS.Now, &o.AAS.Logger}, {&o.Devices.Now, &o.Devices.Logger},
		{&o.Discovery.Now, &o.Discovery.Logger}, {&o.Predictive.Now, &o.Predictive.Logger}, {&o.Hubs.Now, &o.Hubs.Logger},
	} {
		o.Server.Inherit(p.now, p.log)
	}
	o.Discovery.Version = cmp.Or(o.Discovery.Version, o.Server.Version)
	o.Predictive.ModelDir = cmp.Or(o.Predictive.ModelDir, filepath.Join(o.DataDir, ModelFolder))
	o.Predictive.Service.Library = cmp.Or(o.Predictive.Service.Library, o.Server.Version)
	o.Accounts.DataDir = cmp.Or(o.Accounts.DataDir, o.DataDir)
	o.Alarms.DataDir = cmp.Or(o.Alarms.DataDir, o.DataDir)
	model := filepath.Join(o.DataDir, "config", "equipment_model.json")
	if o.Tags.Config != nil && o.Shared != nil {
		o.Tags.InitialModel = cmp.Or(o.Tags.InitialModel, model) // several engines have no file in common
	} else {
		o.Tags.ModelPath = cmp.Or(o.Tags.ModelPath, model)
	}
	o.AAS.MaxBodyBytes = cmp.Or(o.AAS.MaxBodyBytes, o.Server.MaxBodyBytes)
	if o.Hubs.AllowedOrigins == nil {
		o.Hubs.AllowedOrigins = o.Server.CORSOrigins
	}
	return o, nil
}

// share gives the parts what they need where engines share the stores.
func (o *Options) share() (err error) {
	if o.Shared == nil {
		return nil
	}
	switch {
	case o.Shared.Keys == nil:
		return errors.New("engine: Options.Shared.Keys is required")
	case o.Shared.Poll < 0:
		return errors.New("engine: Options.Shared.Poll must not be negative")
	}
	poll := cmp.Or(o.Shared.Poll, 250*time.Millisecond)
	o.Accounts.SharedKeys, o.Alarms.Poll = o.Shared.Keys, poll
	return nil
}

// owner names the engine among those that share a database.
func (o *Options) owner() (err error) {
	id := o.Alerting.Owner
	if id == "" {
		if o.Alerting.Owner, err = alertingpart.EngineName(o.DataDir); err != nil {
			return err
		}
		// Without the host: a container that is made again has another one, and must not refuse its bridges, which would be free then.
		id, _, _ = strings.Cut(o.Alerting.Owner, "@")
	}
	if o.Alarms.Drivers.Engine == "" && o.Shared != nil {
		o.Alarms.Drivers.Engine = o.Alerting.Owner
	}
	if o.Devices.Alarms.Engine == "" && o.Shared != nil {
		o.Devices.Alarms.Engine = o.Alerting.Owner
	}
	if o.Predictive.Alarms.Engine == "" && o.Shared != nil {
		o.Predictive.Alarms.Engine = o.Alerting.Owner
	}
	o.Discovery.EngineID, o.Discovery.Shared = cmp.Or(o.Discovery.EngineID, id), o.Shared != nil
	if o.Predictive.Engine == "" && o.Shared != nil {
		o.Predictive.Engine = o.Discovery.EngineID
	}
	if o.Discovery.Alarms.Engine == "" && o.Shared != nil {
		o.Discovery.Alarms.Engine = o.Discovery.EngineID
	}
	o.Alarms.Drivers.ExcludeTypes = append(slices.Clip(o.Alarms.Drivers.ExcludeTypes), discoverypart.DriverType)
	return nil
}

// authenticator returns what finds out who calls: the embedder's login first, then the accounts.
func (o *Options) authenticator(a *accountspart.Accounts) auth.Authenticator {
	switch {
	case a == nil:
		return o.Server.Authenticator
	case o.Server.Authenticator == nil:
		return a.Authenticator()
	}
	return auth.First(o.Server.Authenticator, a.Authenticator())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/otkit/otkit/aas/mqttevents"
	otkit "github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/demo"
	"github.com/otkit/otkit/internal/dirlock"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/heapfloor"
	"github.com/otkit/otkit/internal/logging"
	"github.com/otkit/otkit/internal/program"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// serve runs the engine until a signal.
func (c *command) serve(ctx context.Context, args []string) error {
	f := c.flags("engine", "[-config FILE] [-data DIR] [-listen ADDR] [-demo]\n       engine users|config|migrate|drain|backup|restore|aas|version ...")
	f.StringVar(&c.listen, "listen", "", "address `ADDR` to listen on, such as :5001")
	withDemo := f.Bool("demo", false, "add a simulated demo plant: drivers sim and pump1 to pump6, devices sim-amr-1 and sim-arm-1")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unknown command %q; engine -h lists the commands", f.Arg(0))
	}
	s, problems, err := c.read(c.errOut)
	if err != nil {
		return err
	}
	e := &engine{command: c, settings: s, withDemo: *withDemo}
	defer heapfloor.Set(heapfloor.Size)()
	lines := logging.NewBatch(c.errOut)
	defer func() { _ = lines.Close() }()
	e.log = s.Log.New(lines, &e.level)
	program.UseLog(e.log)
	e.parts = s.Build(problems, version, e.log, metrics.New(metrics.Options{Version: version}))
	if err := problems.Err(); err != nil {
		return err
	}
	ctx, cancel := program.UntilSignal(ctx)
	defer cancel()
	if err = e.run(ctx); ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the signal came before the engine served
	}
	return err
}

// engine is one run of the engine.
type engine struct {
	*command
	settings engineconfig.Engine
	parts    engineconfig.Parts
	withDemo bool
	log      *slog.Logger
	level    slog.LevelVar // of log
}

// run locks the data directory and opens the database for the run.
func (e *engine) run(ctx context.Context) error {
	hangups := make(chan os.Signal, 1) // from now on, SIGHUP does not end the process
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	unlock, err := dirlock.Lock(e.settings.Storage.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	ctx = dirlock.Held(ctx, e.settings.Storage.DataDir)
	if err := datadir.CheckComplete(e.settings.Storage.DataDir); err != nil {
		return err
	}
	db, err := e.settings.Storage.Open(ctx, storage.Options{Logger: e.log, OnQuery: e.parts.Options.Server.Metrics.ObserveStore}, e.settings.Storage.StartWait, schemas()...)
	if err != nil {
		return err
	}
	err = e.serveOn(ctx, db, hangups)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.settings.Server.ShutdownTimeout)
	defer cancel()
	return errors.Join(err, db.Close(closing))
}

func (e *engine) serveOn(ctx context.Context, db *storage.DB, hangups <-chan os.Signal) error {
	if err := e.settleWrites(ctx, db); err != nil {
		return err
	}
	o := e.parts.Options
	if err := useStores(ctx, &o, e.settings, db, e.log); err != nil {
		return err
	}
	if e.withDemo {
		if err := demo.Install(ctx, &o); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	srv, err := otkit.New(ctx, o)
	if err != nil {
		return err
	}
	closeEvents, err := e.start(ctx, srv)
	if err != nil {
		return errors.Join(err, srv.Close(context.WithoutCancel(ctx)))
	}
	e.welcome(srv, slices.ContainsFunc(o.Devices.Fleets, func(f devicespart.Fleet) bool { return f.Name == "demo" }),
		slices.ContainsFunc(o.Tags.Drivers, func(d tagspart.Driver) bool { return d.ID == demo.FirstPumpID }))
	stopReloads := e.reloadOn(ctx, hangups)
	defer stopReloads()
	err = srv.Run(ctx, e.settings.Server.ShutdownTimeout)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, closeEvents(stopping))
}

// start starts what needs the server. The returned function ends it.
func (e *engine) start(ctx context.Context, srv *otkit.Engine) (closeEvents func(context.Context) error, err error) {
	if e.withDemo {
		if err := errors.Join(demo.AddRules(ctx, srv.AlarmRules()), demo.TrainModels(ctx, srv.Predictive())); err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
	}
	if e.parts.Events == nil {
		return func(context.Context) error { return nil }, nil
	}
	p, err := mqttevents.Connect(srv.AAS(), *e.parts.Events)
	if err != nil {
		return nil, fmt.Errorf("aas.events: %w", err)
	}
	return p.Close, nil
}

// settleWrites records the outcome of the writes that an earlier process left queued. With PostgreSQL, who takes over a driver does it.
func (e *engine) settleWrites(ctx context.Context, db *storage.DB) error {
	if e.settings.Storage.Driver == "postgres" {
		return nil
	}
	writes, err := tagstore.New(db)
	if err != nil {
		return err
	}
	n, err := writes.MarkUnfinished(ctx, time.Now())
	if err == nil && n > 0 {
		e.log.Warn("tag writes of an earlier run have no known outcome; they are not repeated", "writes", n)
	}
	if errors.Is(err, storage.ErrFull) { // the engine settles them when there is space, and shows alarms until then
		e.log.Warn("failed to settle tag writes of an earlier run; retrying later", "error", err)
		return nil
	}
	return err
}

// welcome prints where the API is, and the password of the first account, which is shown once and stored nowhere.
// The demo has no devices where the settings have some of the same ids.
func (e *engine) welcome(srv *otkit.Engine, demoDevices, demoPumps bool) {
	s := e.settings
	scheme := "http"
	if s.Server.TLS.CertFile != "" {
		scheme = "https"
	}
	var text strings.Builder // written in one piece: whoever reads the first line has them all
	if s.Console.Enabled {
		fmt.Fprintf(&text, "Console: %s://%s/\n", scheme, program.Reachable(srv.Addr()))
	}
	fmt.Fprintf(&text, "API and its documentation: %s://%s/docs\n", scheme, program.Reachable(srv.Addr()))
	for _, addr := range srv.PartAddrs() {
		fmt.Fprintf(&text, "API of devices alone: %s://%s/api/v1/devices\n", scheme, program.Reachable(addr))
	}
	if password := srv.InitialAdminPassword(); password != "" {
		fmt.Fprintf(&text, "First account: %s, password %s (shown once; change it with: go run ./cmd/engine users passwd -data %s %[1]s)\n", s.Auth.AdminUsername, password, s.Storage.DataDir)
	}
	if e.withDemo {
		text.WriteString("Demo plant: tags sim.temperature, sim.pressure, sim.setpoint and more; shells under /api/v1/aas")
		if demoDevices {
			text.WriteString("; devices sim-amr-1 and sim-arm-1 under /api/v1/devices")
		}
		if demoPumps {
			text.WriteString("; predictions for pump1 to pump6 under /api/v1.0/predictive-maintenance")
		}
		text.WriteByte('\n')
	}
	fmt.Fprint(e.out, text.String())
}

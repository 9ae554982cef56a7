package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/demo"
	"github.com/otkit/otkit/internal/datadir"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/modbus"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tracing"
)

// factories are the driver types that the engine knows by name.
var factories = driverconfig.Factories{
	"Modbus":           modbus.FromSettings,
	simdriver.TypeName: simdriver.FromSettings,
}

// serve runs the engine until a signal.
func (c *command) serve(ctx context.Context, args []string) error {
	f := c.flags("engine", "[-config FILE] [-data DIR] [-listen ADDR] [-demo]\n       engine users|config|backup|restore|aas|version ...")
	f.StringVar(&c.listen, "listen", "", "`ADDR`ess to listen on, such as :5001")
	withDemo := f.Bool("demo", false, "add a living demo plant: driver sim")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("there is no command %q; engine -h lists them", f.Arg(0))
	}
	s, err := c.settings(c.errOut)
	if err != nil {
		return err
	}
	ctx, cancel := untilSignal(ctx)
	defer cancel()
	unlock, err := datadir.Lock(s.Storage.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()

	e := &environment{log: newLogger(s, c.errOut), metrics: metrics.New(metrics.Options{Version: version})}
	db, err := c.openStorage(ctx, s, e)
	if err == nil {
		err = errors.Join(c.serveOn(ctx, s, e, db, *withDemo), db.Close())
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // the signal came before the engine served
	}
	return err
}

func (c *command) serveOn(ctx context.Context, s settings.Engine, e *environment, db *storage.DB, withDemo bool) error {
	if err := settleWrites(ctx, s, db, e.log); err != nil {
		return err
	}
	drivers, err := buildDrivers(s, e.log)
	if err != nil {
		return err
	}
	o, err := c.options(s, e)
	if err != nil {
		return err
	}
	o.Drivers, o.Stores = drivers, stores(s, db)
	if withDemo {
		if err := addDemo(ctx, db, e.log, &o); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	engine, err := server.New(ctx, o)
	if err != nil {
		return err
	}
	if withDemo {
		if err := demo.AddRules(ctx, engine.AlarmRules()); err != nil {
			return errors.Join(fmt.Errorf("demo: %w", err), engine.Stop(context.WithoutCancel(ctx)))
		}
	}
	end, err := publishShells(s.AAS.Events, e, engine.AAS())
	if err != nil {
		return errors.Join(err, engine.Stop(context.WithoutCancel(ctx)))
	}
	c.welcome(engine, s, withDemo)
	err = engine.Run(ctx, s.Server.ShutdownTimeout)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, end(stopping))
}

// welcome tells a person at the terminal what there is to do, and the first password, which is shown
// this once and kept nowhere.
func (c *command) welcome(engine *server.Server, s settings.Engine, withDemo bool) {
	scheme := "http"
	if s.Server.TLS.CertFile != "" {
		scheme = "https"
	}
	addr := engine.Addr().String()
	if host, port, found := strings.Cut(addr, "]:"); found && (host == "[::" || host == "[::1") {
		addr = "localhost:" + port
	}
	var text strings.Builder // written at once, so that who waits for the first line has them all
	fmt.Fprintf(&text, "API and its documentation: %s://%s/docs\n", scheme, addr)
	if password := engine.FirstPassword(); password != "" {
		fmt.Fprintf(&text, "First account: %s, password %s (shown once; change it with: go run ./cmd/engine users passwd -data %s %[1]s)\n", s.Auth.AdminUsername, password, s.Storage.DataDir)
	}
	if withDemo {
		text.WriteString("Demo plant: tags sim.temperature, sim.pressure, sim.setpoint and more; three shells under /api/v1/aas\n")
	}
	fmt.Fprint(c.out, text.String())
}

func newLogger(s settings.Engine, out interface{ Write([]byte) (int, error) }) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.Log.Level)) // the settings were validated
	o := &slog.HandlerOptions{Level: level}
	if s.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, o))
	}
	return slog.New(slog.NewTextHandler(out, o))
}

func buildDrivers(s settings.Engine, log *slog.Logger) ([]server.Driver, error) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	var list []server.Driver
	for i, d := range s.Drivers {
		built, known, err := factories.Build(driverconfig.Settings{ID: d.ID, Type: d.Type, IPAddress: d.IPAddress, Port: d.Port, Settings: d.Settings}, log)
		if err != nil {
			return nil, fmt.Errorf("drivers[%d] (%s): %w", i, d.ID, err)
		}
		list = append(list, server.Driver{ID: d.ID, Driver: built, Options: tags.DriverOptions{
			Type: d.Type, Interval: ms(d.PollIntervalMs), Timeout: ms(d.TimeoutMs), BackoffMax: ms(d.BackoffMaxMs), Tags: known}})
	}
	return list, nil
}

// stores are those of a database.
func stores(s settings.Engine, db *storage.DB) server.Stores {
	all := server.Stores{Accounts: db.Accounts(), Sessions: db.Sessions(), Writes: db.Writes(), History: db.History(), Ping: db.Ping,
		Alarms: db.Alarms(), Resolutions: db.Resolutions(), AlarmRules: db.AlarmRules(), RuleStates: db.AlarmRules(),
		Silences: db.Silences(), AlertHistory: db.AlertHistory(), Outbox: db.Outbox(), DeadLetters: db.Outbox(), AAS: db.AAS()}
	if s.Storage.Driver == "postgres" {
		all.Shared = &server.Shared{Keys: db.Keys(), Board: db.Board()}
	}
	return all
}

// options turns settings into the options of the server, its drivers and stores apart. It reads the files
// that they name and needs no network.
func (c *command) options(s settings.Engine, e *environment) (server.Options, error) {
	o := server.Options{
		DataDir: s.Storage.DataDir, ModelPath: modelPath(s), Version: version, Logger: e.log, Metrics: e.metrics,
		Listen: s.Server.Listen, MaxConns: s.Server.MaxConnections, MaxBodyBytes: s.Server.MaxBodyBytes,
		HeaderTimeout: s.Server.ReadHeaderTimeout, IdleTimeout: s.Server.IdleTimeout,
		CORSOrigins: s.Server.CORS.AllowedOrigins, AccessLog: s.Log.Requests,
		Auth: server.AuthOptions{
			AdminUsername: s.Auth.AdminUsername, AdminPassword: s.Auth.AdminPassword,
			Issuer: s.Auth.Issuer, Audience: s.Auth.Audience,
			AccessTTL: time.Duration(s.Auth.AccessTokenMinutes) * time.Minute, RefreshTTL: time.Duration(s.Auth.RefreshTokenHours) * time.Hour,
			ProtectOpenSurfaces: s.Auth.ProtectOpenSurfaces,
		},
		History: server.HistoryOptions{Disabled: !s.Tags.History.Enabled, MaxAge: s.Tags.History.MaxAge,
			MaxBytes: s.Tags.History.MaxBytes, FlushEvery: s.Tags.History.FlushEvery},
		WriteLogMaxAge: s.Tags.WriteLogMaxAge, AlarmMaxAge: s.Alarms.MaxAge,
		Tracing: tracing.Options{Endpoint: s.Tracing.Endpoint, Protocol: tracing.Protocol(s.Tracing.Protocol),
			SampleRatio: s.Tracing.SampleRatio, Version: version, Logger: e.log},
	}
	var err error
	if o.Alerting, err = alertingOptions(s.Alerting); err != nil {
		return o, err
	}
	o.AlarmLimits = alarms.Limits(s.Alarms.Analytics)
	severity, err := alarms.ParseSeverity(s.Alarms.DriverOffline.Severity)
	if err != nil {
		return o, fmt.Errorf("alarms.driverOffline.severity: %w", err)
	}
	o.DriverAlarms = alarms.DriverAlarmsOptions{Disabled: !s.Alarms.DriverOffline.Enabled, Delay: s.Alarms.DriverOffline.Delay, Severity: &severity}
	if err := addShells(s.AAS, &o); err != nil {
		return o, err
	}
	if oidc := s.Auth.OIDC; oidc.Issuer != "" {
		o.Auth.OIDC = &auth.OIDC{Issuer: oidc.Issuer, Audience: oidc.Audience, RolesClaim: oidc.RolesClaim}
	}
	if files := s.Server.TLS; files.CertFile != "" {
		config, err := oneport.Certificates(oneport.CertificateOptions{CertFile: files.CertFile, KeyFile: files.KeyFile,
			ClientCAFile: files.ClientCAFile, RequireClientCert: files.RequireClientCert, Logger: e.log})
		if err != nil {
			return o, fmt.Errorf("server.tls: %w", err)
		}
		o.TLS = config
	}
	return o, nil
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/oneport"
	"github.com/otkit/otkit/transport/tracing"
)

// Server is an engine with its surfaces. Make it with New, then either Run it, or Start and Stop it.
type Server struct {
	opts Options
	log  *slog.Logger

	plant     *plant
	room      *alarmRoom
	shells    *shellRoom
	accounts  *accounts.Service
	keys      *auth.Keys
	authority *auth.Authority
	guard     *auth.Guard
	health    *health.Registry
	metrics   *metrics.Metrics
	tracer    trace.TracerProvider
	endTraces func(context.Context) error
	password  string // of the admin account that New made, when it chose it

	streams *streams

	port *oneport.Port
	http *http.Server
	grpc *grpc.Server

	stopping context.Context // ends streams
	stop     context.CancelFunc
	wg       sync.WaitGroup
	failed   chan error // the first failure of a listener
}

// New builds a server: it opens the model file and the signing keys, makes the first account when
// there is none, starts the drivers and listens. It answers once Start is called. When New fails,
// what it has opened is closed again.
func New(ctx context.Context, o Options) (_ *Server, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, log: o.Logger, failed: make(chan error, 2)}
	s.streams = &streams{most: o.MaxStreams, open: make(map[string]int)}
	s.stopping, s.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	if s.tracer, s.endTraces, err = tracing.Start(ctx, o.Tracing); err != nil {
		return nil, err
	}
	s.metrics = o.Metrics
	if s.health, err = health.New(health.Options{Logger: o.Logger}); err != nil {
		return nil, err
	}
	if err := s.openAuth(ctx); err != nil {
		return nil, err
	}
	if s.plant, err = newPlant(o); err != nil {
		return nil, err
	}
	if s.room, err = newAlarmRoom(ctx, o, s.plant.engine); err != nil {
		return nil, err
	}
	if s.shells, err = newShellRoom(o, s.guard, s.plant.engine); err != nil {
		return nil, err
	}
	if err := s.addMetrics(); err != nil {
		return nil, err
	}
	if err := s.addChecks(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	// The account comes last: a start that fails must not leave one whose password nobody has seen.
	if s.password, err = s.accounts.EnsureAdmin(ctx, o.Auth.AdminUsername, o.Auth.AdminPassword); err != nil {
		return nil, fmt.Errorf("first account: %w", err)
	}
	return s, nil
}

func (s *Server) openAuth(ctx context.Context) (err error) {
	o := s.opts
	s.accounts, err = accounts.New(o.Stores.Accounts, o.Stores.Sessions, accounts.Options{Now: o.Now, Logger: o.Logger, RefreshTTL: o.Auth.RefreshTTL})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if s.keys, err = auth.OpenKeys(o.DataDir, auth.KeysOptions{Now: o.Now}); err != nil {
		return fmt.Errorf("signing keys: %w", err)
	}
	if shared := o.Stores.Shared; shared != nil {
		if err := s.keys.Share(ctx, shared.Keys); err != nil {
			return err
		}
	}
	s.authority, err = auth.New(s.accounts, s.keys, auth.Options{Now: o.Now, Logger: o.Logger,
		Issuer: o.Auth.Issuer, Audience: o.Auth.Audience, AccessTTL: o.Auth.AccessTTL, OIDC: o.Auth.OIDC})
	if err != nil {
		return err
	}
	table, err := auth.NewTable(auth.EngineOperations())
	if err != nil {
		return err
	}
	s.guard, err = auth.NewGuard(s.authority, table, auth.GuardOptions{ProtectOpenSurfaces: o.Auth.ProtectOpenSurfaces,
		StaticTokens: map[string]string{"postAlertWebhook": o.Alerting.WebhookToken}, WriteError: refuse})
	return err
}

// listen opens the port and builds the two servers behind it.
func (s *Server) listen() (err error) {
	o := s.opts
	h, err := s.handler()
	if err != nil {
		return err
	}
	if s.http, err = middleware.NewServer(h, middleware.ServerOptions{HeaderTimeout: o.HeaderTimeout, IdleTimeout: o.IdleTimeout, Logger: o.Logger}); err != nil {
		return err
	}
	if s.grpc, err = s.newGRPC(); err != nil {
		return err
	}
	s.port, err = oneport.Listen(oneport.Options{Addr: o.Listen, Listener: o.Listener, TLS: o.TLS, MaxConns: o.MaxConns, Logger: o.Logger})
	return err
}

// FirstPassword gives the password of the admin account that New made, when there was no account and
// no password was set; else it is empty. It is shown to the operator once and kept nowhere.
func (s *Server) FirstPassword() string { return s.password }

// Addr gives the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.port.Addr() }

// Tags gives the tag engine, for programs that embed the server.
func (s *Server) Tags() *tags.Engine { return s.plant.engine }

// Alarms gives the alarms, for programs that embed the server.
func (s *Server) Alarms() *alarms.Service { return s.room.service }

// AlarmRules gives the alarm rules, for programs that embed the server.
func (s *Server) AlarmRules() *alarms.Rules { return s.room.rules }

// AAS gives the asset administration shells, for programs that embed the server.
func (s *Server) AAS() *aas.Service { return s.shells.service }

// Start begins to answer. It returns at once.
func (s *Server) Start() {
	s.startAnnouncing()
	s.wg.Go(func() { s.report(s.port.Serve(s.stopping)) })
	s.wg.Go(func() { s.report(s.http.Serve(s.port.HTTP())) })
	s.wg.Go(func() { s.report(s.grpc.Serve(s.port.GRPC())) })
	s.wg.Go(func() {
		if err := s.plant.config.Watch(s.stopping); err != nil && s.stopping.Err() == nil {
			s.log.Error("changes of the model file are not seen any more", "error", err)
		}
	})
	s.startUpkeep()
	s.startSharing()
	s.startMapping()
	s.wg.Go(func() { s.room.follow(s.stopping) })
	s.wg.Go(func() { s.room.drivers.Run(s.stopping) })
	s.room.dispatcher.Start()
	s.wg.Go(func() { s.room.tellIngestion(s.stopping, s.plant.engine, s.opts.Now) })
	s.log.Info("engine is listening", "address", s.Addr().String(), "tls", s.opts.TLS != nil, "version", s.opts.Version)
}

func (s *Server) report(err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) || errors.Is(err, grpc.ErrServerStopped) || s.stopping.Err() != nil {
		return
	}
	select {
	case s.failed <- err:
	default:
	}
}

// Run starts the server, waits for ctx to end or a listener to fail, and stops it within grace.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	s.Start()
	var failed error
	select {
	case <-ctx.Done():
		s.log.Info("engine is stopping")
	case failed = <-s.failed:
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(failed, s.Stop(stop))
}

// Stop ends the server: streams end first, then requests in progress are answered, queued writes go
// out to their drivers and the history is stored, all as long as ctx lasts. What is left is cut off.
func (s *Server) Stop(ctx context.Context) error { return s.close(ctx) }

func (s *Server) close(ctx context.Context) error {
	s.stop()
	var errs []error
	if s.port != nil {
		errs = append(errs, s.port.Close(), s.drain(ctx))
	}
	s.wg.Wait()
	if s.room != nil {
		s.room.deafen()
	}
	if s.plant != nil {
		errs = append(errs, s.plant.close(ctx))
	}
	if s.room != nil {
		errs = append(errs, s.room.close(ctx))
	}
	if s.shells != nil {
		errs = append(errs, s.shells.close(ctx))
	}
	if s.health != nil {
		errs = append(errs, s.health.Close(ctx))
	}
	if s.endTraces != nil {
		errs = append(errs, s.endTraces(ctx))
	}
	return errors.Join(errs...)
}

// drain answers the requests in progress. It takes two thirds of the time there is and then cuts off
// what is left: a client that does not let go must not cost the writes and samples that still wait.
func (s *Server) drain(ctx context.Context) error {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Until(end)/3))
		defer cancel()
	}
	var calls sync.WaitGroup
	calls.Go(func() { s.stopGRPC(ctx) })
	calls.Go(func() {
		if err := s.room.closeHubs(ctx); err != nil {
			s.log.Warn("listeners of the hubs were cut off", "error", err)
		}
	})
	err := s.http.Shutdown(ctx)
	if err != nil && ctx.Err() != nil {
		s.log.Warn("requests were cut off")
		err = s.http.Close()
	}
	calls.Wait()
	return err
}

func (s *Server) stopGRPC(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.log.Warn("gRPC calls were cut off")
		s.grpc.Stop()
		<-done
	}
}

// addMetrics has the metrics tell of drivers, alerting and history.
func (s *Server) addMetrics() error {
	if err := s.metrics.AddDrivers(s.plant.engine.Drivers); err != nil {
		return err
	}
	if err := s.metrics.AddAlerting(s.room.dispatcher); err != nil {
		return err
	}
	if s.plant.recorder == nil {
		return nil
	}
	return s.metrics.AddHistory(s.plant.recorder.Stats)
}

func (s *Server) history() tags.HistoryStore {
	if s.opts.History.Disabled {
		return nil
	}
	return s.opts.Stores.History
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/tracing"
)

// Server serves what its parts contribute over HTTP and gRPC. Make it with New. Then Run it; or Start
// it, serve its Handler and its gRPC services elsewhere, and Close it.
type Server struct {
	opts  Options
	log   *slog.Logger
	parts []Part

	access  *access
	streams *streams
	guard   *auth.Guard
	health  *health.Registry
	metrics *metrics.Metrics
	tracer  trace.TracerProvider

	endTraces func(context.Context) error

	handler  http.Handler
	partOf   map[string]string // part by method, blank, pattern of its routes
	services *services
	foreign  *inflight // calls through an embedder's own servers
	http     *http.Server
	grpc     *grpc.Server

	mu     sync.Mutex
	ports  []port
	closed bool // nothing may be started any more

	stopping  context.Context // ends streams and jobs
	stop      context.CancelFunc
	wg        sync.WaitGroup
	failed    chan error // the first failure of a listener
	startOnce sync.Once
	started   atomic.Bool
	closeOnce sync.Once
	closeErr  error
}

// New returns a server of the given parts, which it closes from now on, also when New fails. It opens
// the ports that Options name, if any. The context bounds New alone. Until Start is called, they do
// not answer, no job runs, and /health and /health/ready of the Handler are Unhealthy.
func New(ctx context.Context, o Options, parts ...Part) (_ *Server, err error) {
	s := &Server{parts: parts, log: slog.New(slog.DiscardHandler), failed: make(chan error, 1), foreign: newInflight(), partOf: make(map[string]string)}
	s.stopping, s.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	if s.opts, err = o.withDefaults(); err != nil {
		return nil, err
	}
	o = s.opts
	s.log, s.metrics = o.Logger, o.Metrics
	s.access = newAccess(o, operationsOf(parts))
	s.streams = newStreams(o.MaxStreams, operationsOf(parts))
	if s.tracer, s.endTraces, err = tracing.Start(ctx, o.Tracing); err != nil {
		return nil, err
	}
	if s.health, err = health.New(health.Options{Logger: o.Logger, Members: o.HealthMembers}); err != nil {
		return nil, err
	}
	if s.guard, err = s.newGuard(); err != nil {
		return nil, err
	}
	for _, build := range []func() error{s.buildHandler, s.buildGRPC, s.addChecks, s.addMetrics} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	if s.http, err = middleware.NewServer(s.handler, middleware.ServerOptions{HeaderTimeout: o.HeaderTimeout, IdleTimeout: o.IdleTimeout, Logger: o.Logger}); err != nil {
		return nil, err
	}
	s.http.BaseContext = baseContext
	if err = s.listenAll(); err != nil {
		return nil, err
	}
	return s, nil
}

func operationsOf(parts []Part) (all []auth.Operation) {
	for _, p := range append([]Part{{Name: "server", Operations: serverOperations()}}, parts...) {
		for _, op := range p.Operations {
			op.Part = p.Name
			all = append(all, op)
		}
	}
	return all
}

func (s *Server) newGuard() (*auth.Guard, error) {
	table, err := auth.NewTable(operationsOf(s.parts))
	if err != nil {
		return nil, err
	}
	inside, err := s.inside()
	if err != nil {
		return nil, err
	}
	tokens := map[string]string{metricsOperation: s.opts.MetricsToken}
	for _, p := range s.parts {
		for op, token := range p.StaticTokens {
			tokens[op] = token
		}
	}
	recorder, err := s.newRecorder()
	if err != nil {
		return nil, err
	}
	return auth.NewGuard(s.opts.Authenticator, table, auth.GuardOptions{Recorder: recorder,
		OpenTo: s.access.openTo, Limit: s.access.limitPrincipal, OnRefused: s.onRefused, WriteError: refuse,
		Inside: inside, StaticTokens: tokens, Logger: s.log})
}

// Operations returns the operations of the server and of its parts: every route and gRPC method, and who
// may call them.
func (s *Server) Operations() []auth.Operation { return operationsOf(s.parts) }

// Handler returns everything that the server has over HTTP, for a host's own http.Server. Requests
// through it have the same checks, limits, metrics and errors as those to a port of the server. Close
// waits for them and refuses later ones with 503, so close the server before the host's.
//
// The host's WriteTimeout should be 0: it cuts off long answers such as exports. Event streams and hubs
// clear it for themselves, because hubs and streams do not end. Call Start as well: until then no job runs
// and health is Unhealthy. A context value that the host's middleware has set is there for the Authenticator.
func (s *Server) Handler() http.Handler { return s.foreign.handler(s.handler) }

// RegisterGRPC registers the gRPC services of the parts with a host's own grpc.Server, before its Serve.
// Calls have the same checks, metrics, errors and limits of calls as those to a port of the server, inside of
// the host's interceptors. What belongs to connections is the host's: TLS, message size, keepalive, idle time,
// tracing; so are the services of health and reflection.
func (s *Server) RegisterGRPC(r grpc.ServiceRegistrar) {
	for _, desc := range s.services.build(s.interceptors(s.foreign)) {
		r.RegisterService(desc, struct{}{})
	}
}

// Start starts the parts and serves the ports that Options name, if any. It returns immediately; only
// the first call counts.
func (s *Server) Start() {
	s.startOnce.Do(func() {
		for _, p := range s.parts {
			if p.Start != nil {
				p.Start()
			}
			for _, job := range p.Jobs {
				s.background(func() { job(s.stopping) })
			}
		}
		s.started.Store(true)
		s.mu.Lock()
		ports := slices.Clone(s.ports)
		s.mu.Unlock()
		for _, port := range ports {
			s.servePort(port)
		}
		s.warnOpen()
	})
}

// background runs f in a goroutine that Close waits for. After Close it does nothing.
func (s *Server) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wg.Go(f)
	}
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

// Serve starts the server and serves HTTP and gRPC on a listener, with the TLS of Options, until the
// server is closed or the listener fails. It closes the listener. After Close it returns nil.
func (s *Server) Serve(l net.Listener) error {
	if l == nil {
		return errors.New("server: Serve: the listener is nil")
	}
	s.Start()
	port, err := s.listen("", l, nil)
	if errors.Is(err, errStopping) {
		_ = l.Close()
		return nil
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.servePort(port)
	return s.wait(context.Background())
}

// wait returns when ctx ends, the server is being closed, or a listener fails.
func (s *Server) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.stopping.Done():
	case err := <-s.failed:
		return err
	}
	return nil
}

// Run starts the server, waits for ctx to end or a listener to fail, and closes it within grace.
func (s *Server) Run(ctx context.Context, grace time.Duration) error {
	s.Start()
	failed := s.wait(ctx)
	if failed == nil {
		s.log.Info("server is stopping")
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(failed, s.Close(stop))
}

// addMetrics registers the metrics of the server and of the parts.
func (s *Server) addMetrics() error {
	if s.opts.Certificate != nil {
		if err := s.metrics.AddCertificate(func() time.Time { return s.opts.Certificate().NotAfter }, s.opts.Now); err != nil {
			return err
		}
	}
	if err := s.metrics.AddAccess(s.accessStats); err != nil {
		return err
	}
	for _, p := range s.parts {
		for _, c := range p.Metrics {
			if err := s.metrics.Register(c); err != nil {
				return fmt.Errorf("%s: metrics: %w", p.Name, err)
			}
		}
	}
	return nil
}

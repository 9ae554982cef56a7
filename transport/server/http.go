package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/problem"
	"github.com/otkit/otkit/transport/tracing"
)

// buildHandler builds everything that is served over HTTP.
func (s *Server) buildHandler() error {
	cors, err := middleware.CORS(middleware.CORSOptions{Origins: s.opts.CORSOrigins})
	if err != nil {
		return err
	}
	foreign, err := s.refuseForeign()
	if err != nil {
		return err
	}
	r := chi.NewRouter()
	r.Use(s.access.proxies.Middleware, tracing.HTTPMiddleware(s.tracer), middleware.Trace(middleware.TraceOptions{Logger: s.log, SpanTraceID: tracing.TraceID}))
	if s.opts.AccessLog {
		r.Use(middleware.AccessLog(s.log))
	}
	r.Use(s.metrics.HTTP, middleware.Recover, middleware.SecurityHeaders, s.access.limitHTTP, cors, foreign, middleware.EscapedPath)
	middleware.Fallbacks(r)
	r.Use(middleware.DropEmptyQuery, s.routesOfPort(r))
	guarded := Router{Router: s.guard.Router(r), guard: s.guard, plain: r}
	s.mountSystem(guarded)
	s.noteRoutes(r, "server")
	for _, p := range s.parts {
		if p.Routes == nil {
			continue
		}
		if err := p.Routes(guarded); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		s.noteRoutes(r, p.Name)
	}
	s.handler = r
	return s.guard.Err()
}

// inside returns what stands between the guard and each handler: who may not call has no body read.
func (s *Server) inside() (func(auth.Operation, http.Handler) http.Handler, error) {
	maxBody, err := middleware.MaxBody(s.opts.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	compress, err := middleware.Compress(middleware.CompressOptions{})
	if err != nil {
		return nil, err
	}
	compressStream, err := middleware.Compress(middleware.CompressOptions{Stream: true})
	if err != nil {
		return nil, err
	}
	return func(op auth.Operation, h http.Handler) http.Handler {
		switch {
		case op.Gzip && op.Stream:
			h = compressStream(h)
		case op.Gzip:
			h = compress(h)
		}
		if op.Stream {
			h = s.streaming(h)
		}
		if op.RawBody {
			return h
		}
		return maxBody(middleware.JSONBody(map[string][]string{"/": op.Media})(h))
	}, nil
}

var errForeign = fault.New(fault.Forbidden, "FORBIDDEN", "the request comes from a page of another origin")

// refuseForeign refuses what a browser sends for a page of an origin that is not allowed, unless it
// only reads. CORS alone does not: a page may send a form without asking first.
func (s *Server) refuseForeign() (func(http.Handler) http.Handler, error) {
	if slices.Contains(s.opts.CORSOrigins, "*") {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	protection := http.NewCrossOriginProtection()
	for _, origin := range s.opts.CORSOrigins {
		if err := protection.AddTrustedOrigin(strings.ToLower(origin)); err != nil {
			return nil, fmt.Errorf("server: Options.CORSOrigins: %w", err)
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { refuse(w, r, errForeign) }))
	return protection.Handler, nil
}

const (
	livePath         = "/health/live"
	readyPath        = "/health/ready"
	metricsOperation = "getMetrics"
)

// serverOperations are those of the server itself.
func serverOperations() []auth.Operation {
	return []auth.Operation{
		{ID: "getHealth", Method: http.MethodGet, Path: "/health", Access: auth.Open},
		{ID: "getReadiness", Method: http.MethodGet, Path: readyPath, Access: auth.Open},
		{ID: "getLiveness", Method: http.MethodGet, Path: livePath, Access: auth.Open},
		{ID: metricsOperation, Method: http.MethodGet, Path: "/metrics", Access: auth.Viewer, OpenSurface: true},
		{ID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.yaml", Access: auth.Open, Gzip: true},
		{ID: "getDocs", Method: http.MethodGet, Path: "/docs", Access: auth.Open},
		{ID: "getDocsFile", Method: http.MethodGet, Path: "/docs/*", Access: auth.Open},
		{ID: "grpcHealth", Access: auth.Open, Unaudited: "reads only", GRPC: []string{
			"/grpc.health.v1.Health/Check",
			"/grpc.health.v1.Health/List",
			"/grpc.health.v1.Health/Watch",
		}},
		{ID: "grpcReflection", Access: auth.Open, Unaudited: "reads only", GRPC: []string{
			"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
			"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
		}},
	}
}

// mountSystem registers what is about the server itself.
func (s *Server) mountSystem(r chi.Router) {
	r.Get("/health", s.onceStarted(s.health.Handler()))
	r.Get(readyPath, s.onceStarted(s.health.ReadyHandler()))
	r.Get(livePath, s.health.LiveHandler().ServeHTTP)
	r.Get("/metrics", s.metrics.Handler().ServeHTTP)
	mountDocs(r, s.opts.Document)
}

// streaming bounds a handler whose answer has no end: its context ends with the caller's token or session,
// or the server, and a caller may have so many.
func (s *Server) streaming(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, err := s.streams.enter(r.Context(), "")
		if err != nil {
			refuse(w, r, err)
			return
		}
		defer leave()
		ctx, stop := auth.Lifetime(r.Context())
		defer stop()
		ctx, cancel := s.untilStop(ctx)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// untilStop returns a context that also ends when the server stops.
func (s *Server) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(s.stopping, func() { cancel(errStopping) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// refuse answers a request that the guard does not let through.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, err, problem.FamilyOf(r.URL.Path))
}

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
	"github.com/otkit/otkit/transport/rest"
	"github.com/otkit/otkit/transport/tracing"
)

// handler builds everything that is served over HTTP.
func (s *Server) handler() (http.Handler, error) {
	maxBody, err := middleware.MaxBody(s.opts.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	cors, err := middleware.CORS(middleware.CORSOptions{Origins: s.opts.CORSOrigins})
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(tracing.HTTPMiddleware(s.tracer), middleware.Trace(middleware.TraceOptions{Logger: s.log}))
	if s.opts.AccessLog {
		r.Use(middleware.AccessLog(s.log))
	}
	foreign, err := s.refuseForeign()
	if err != nil {
		return nil, err
	}
	r.Use(s.metrics.HTTP, middleware.Recover, middleware.SecurityHeaders, cors, foreign, noteRemote, middleware.EscapedPath)
	middleware.Fallbacks(r)
	r.Use(rest.DropEmptyQuery)
	jsonBody := middleware.JSONBody(map[string][]string{
		"/api/v1.0/config/tags/import": {"text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	})

	guarded := s.guard.Router(r)
	rest.Mount(guarded, rest.Surfaces{
		Auth:      &rest.Auth{Authority: s.authority},
		Tags:      &rest.Tags{Engine: s.plant.engine, History: s.history(), Caller: callerName, Live: s.live, Now: s.opts.Now},
		TagConfig: &rest.TagConfig{Store: s.plant.config},
		Alarms:    &rest.Alarms{Service: s.room.service, Rules: s.room.rules, Caller: callerName, Now: s.opts.Now},
		Alerting:  &rest.Alerting{Silences: s.room.silences, History: s.room.history, Webhook: s.room.webhook, Dispatcher: s.room.dispatcher, Logger: s.log},
		AAS:       &rest.AAS{Service: s.shells.service},
		Body:      func(next http.Handler) http.Handler { return maxBody(jsonBody(next)) },
	})
	s.shells.mount(r)
	s.mountSystem(guarded)
	mountHub(guarded, "/hubs/alarms", s.room.hub)
	mountHub(guarded, "/hubs/demo", s.room.demo)
	if err := s.guard.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// mountHub registers a hub for browsers. Its bodies are frames of the hub's protocol and not JSON.
func mountHub(r chi.Router, path string, hub http.Handler) {
	r.Get(path, hub.ServeHTTP)
	r.Post(path, hub.ServeHTTP)
	r.Delete(path, hub.ServeHTTP)
	r.Post(path+"/negotiate", hub.ServeHTTP)
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

// mountSystem registers what is about the server itself.
func (s *Server) mountSystem(r chi.Router) {
	r.Get("/health", s.health.Handler().ServeHTTP)
	r.Get("/health/ready", s.health.ReadyHandler().ServeHTTP)
	r.Get("/health/live", s.health.LiveHandler().ServeHTTP)
	r.Get("/metrics", s.metrics.Handler().ServeHTTP)
	r.Get("/.well-known/jwks.json", s.keys.ServeHTTP)
	mountDocs(r)
}

// callerName says who makes a call, for the log of writes.
func callerName(ctx context.Context) string {
	if p, ok := auth.From(ctx); ok {
		return p.Name
	}
	return "anonymous"
}

// live gives a stream's context: it ends with the client, the caller's token or session, or the server,
// and has ended already when the caller has too many.
func (s *Server) live(ctx context.Context) (context.Context, context.CancelFunc) {
	leave, err := s.streams.enter(ctx)
	if err != nil {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ctx, func() {}
	}
	ctx, stop := auth.Lifetime(ctx)
	ctx, cancel := s.untilStop(ctx)
	return ctx, func() {
		cancel()
		stop()
		leave()
	}
}

// untilStop gives a context that also ends when the server stops.
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

package server

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/health"
)

// Part is what one domain, or an embedder, contributes to a server. What a part does not need stays nil.
// Parts know each other as arguments of their constructors; the server knows only what is here.
type Part struct {
	Name string // for errors, such as "tags"

	// Operations are the routes and gRPC methods of the part, and who may call them. What is not listed
	// cannot be registered.
	Operations []auth.Operation
	// StaticTokens are bearer tokens by the ID of the operation that takes them, for callers that cannot
	// log in. An empty one is none.
	StaticTokens map[string]string
	// Audited describes operations to the audit log, by their ID. Operations that are not in it are recorded with
	// their path parameters and the request's body.
	Audited map[string]audited.Description
	// Routes registers what the part serves over HTTP. It is called once, by New.
	Routes func(r Router) error
	// GRPC registers the gRPC services of the part. It is called once, by New.
	GRPC func(r grpc.ServiceRegistrar) error

	Checks  []health.Check
	Metrics []prometheus.Collector // shown at /metrics; their names must differ

	// Start is called once, before the server answers. It must return soon.
	Start func()
	// Jobs run from the start until the server stops. Each must return when its context ends.
	Jobs []func(ctx context.Context)

	// The server stops in this order; all functions must return when ctx ends.
	//
	// EndStreams ends the connections that callers hold open. Requests in progress are still answered,
	// and jobs have been asked to end.
	EndStreams func(ctx context.Context) error
	// Drain finishes the work under way and hands it on. It is called when requests and jobs have ended,
	// in the order of the parts: what one part hands on, a later one still takes.
	Drain func(ctx context.Context) error
	// Close releases what the part holds. It is called after every Drain, in the reverse order.
	Close func(ctx context.Context) error
}

// Router is where a part registers its routes. A handler stands behind the check of its operation, and
// behind the limits and the reading of bodies that the operation asks for.
type Router struct {
	chi.Router
	guard *auth.Guard
	plain chi.Router
}

// Guard returns a handler that stands behind the check of an operation, for a part that has a router
// of its own.
func (r Router) Guard(op auth.Operation, h http.Handler) http.Handler { return r.guard.Handler(op, h) }

// Delegate registers a handler at a path and for everything below it. The handler must check callers
// itself, with Guard.
func (r Router) Delegate(path string, h http.Handler) {
	r.plain.Handle(path, h)
	r.plain.Handle(path+"/*", h)
}

// Methods returns a registrar for a part that implements only some methods of a service: it registers
// those. Parts may so share a service.
func Methods(r grpc.ServiceRegistrar, names ...string) grpc.ServiceRegistrar {
	return someMethods{r, names}
}

type someMethods struct {
	grpc.ServiceRegistrar
	names []string
}

// RegisterService implements grpc.ServiceRegistrar.
func (m someMethods) RegisterService(desc *grpc.ServiceDesc, impl any) {
	some := *desc
	some.Methods = slices.DeleteFunc(slices.Clone(desc.Methods), func(d grpc.MethodDesc) bool { return !slices.Contains(m.names, d.MethodName) })
	some.Streams = slices.DeleteFunc(slices.Clone(desc.Streams), func(d grpc.StreamDesc) bool { return !slices.Contains(m.names, d.StreamName) })
	m.ServiceRegistrar.RegisterService(&some, impl)
}

// implements reports whether impl is what the service asks for.
func implements(desc *grpc.ServiceDesc, impl any) bool {
	return impl != nil && reflect.TypeOf(impl).Implements(reflect.TypeOf(desc.HandlerType).Elem())
}

// Every returns a job that calls do at an interval until the server stops. It logs failure with the
// error of do, which is called again at the next interval.
func Every(interval time.Duration, log *slog.Logger, failure string, do func(ctx context.Context) error) func(ctx context.Context) {
	return func(ctx context.Context) {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := do(ctx); err != nil && ctx.Err() == nil {
				log.Error(failure, "error", err)
			}
		}
	}
}

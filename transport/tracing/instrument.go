package tracing

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
)

// HTTPMiddleware starts a span for each request, named by method and route, as the child of the span that
// the header traceparent names. Probes and scrapes (/health, /metrics) have none. It is to be used on
// the chi router itself, first of all. With the provider of no tracing it returns next unchanged.
func HTTPMiddleware(provider trace.TracerProvider) func(http.Handler) http.Handler {
	if off(provider) {
		return func(next http.Handler) http.Handler { return next }
	}
	instrument := otelhttp.NewMiddleware("otkit",
		otelhttp.WithTracerProvider(provider),
		otelhttp.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool {
			return !strings.HasPrefix(r.URL.Path, "/health") && r.URL.Path != "/metrics"
		}))
	return func(next http.Handler) http.Handler {
		return instrument(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			// Layers further in copy the request, so that chi's own note of the pattern is on a copy.
			if rctx := chi.RouteContext(r.Context()); rctx != nil {
				r.Pattern = rctx.RoutePattern()
				trace.SpanFromContext(r.Context()).SetAttributes(semconv.HTTPRoute(r.Pattern))
			}
		}))
	}
}

// ServerOption starts a span for each gRPC call except health checks. With the provider of no tracing it
// does nothing.
func ServerOption(provider trace.TracerProvider) grpc.ServerOption {
	if off(provider) {
		return grpc.EmptyServerOption{}
	}
	return grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(provider),
		otelgrpc.WithMeterProvider(metricnoop.NewMeterProvider()),
		otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(filters.Not(filters.HealthCheck())),
	))
}

// TraceID returns the id of the trace that a context's span belongs to, or "".
func TraceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}

func off(provider trace.TracerProvider) bool {
	_, isNoop := provider.(noop.TracerProvider)
	return provider == nil || isNoop
}

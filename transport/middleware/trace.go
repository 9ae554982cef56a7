package middleware

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otkit/otkit/transport/problem"
)

// TraceOptions are the options of Trace.
type TraceOptions struct {
	Logger *slog.Logger  // for failures in the request; nil is slog.Default
	NewID  func() string // nil is problem.NewTraceID
}

// Trace gives each request a trace id, which problem.TraceID finds: that of the OpenTelemetry span
// where tracing is on, else that of the header traceparent (W3C Trace Context), else a new one.
func Trace(o TraceOptions) func(http.Handler) http.Handler {
	if o.NewID == nil {
		o.NewID = problem.NewTraceID
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id := traceID(r.Context(), r.Header.Get("Traceparent"))
			if id == "" {
				id = o.NewID()
			}
			next.ServeHTTP(w, r.WithContext(problem.WithTrace(r.Context(), id, o.Logger)))
		})
	}
}

// traceID finds the id in the span or the traceparent; empty when there is neither.
func traceID(ctx context.Context, traceparent string) string {
	if span := oteltrace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	// version "-" trace id "-" parent id "-" flags; a later version may append more.
	if len(traceparent) < 55 || traceparent[2] != '-' || traceparent[35] != '-' || traceparent[52] != '-' ||
		!isHex(traceparent[:2]) || traceparent[:2] == "ff" || !isHex(traceparent[36:52]) {
		return ""
	}
	if len(traceparent) > 55 && (traceparent[:2] == "00" || traceparent[55] != '-') {
		return ""
	}
	id := traceparent[3:35]
	if !isHex(id) || strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

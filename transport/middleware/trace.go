package middleware

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/otkit/otkit/transport/internal/call"
	"github.com/otkit/otkit/transport/problem"
)

// TraceOptions are the options of Trace.
type TraceOptions struct {
	Logger *slog.Logger  // for failures in the request; nil is slog.Default
	NewID  func() string // nil is problem.NewTraceID
	Access bool          // for gRPC: one line for each call, as AccessLog has for requests
	// SpanTraceID returns the trace id of the span that a context carries, or "". Default: spans are not looked for.
	SpanTraceID func(context.Context) string
}

// Trace puts a trace id for [problem.TraceID] into the context of each request; see [TraceOptions.Context].
func Trace(o TraceOptions) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ctx := o.Context(r.Context(), r.Header.Get("Traceparent")); ctx != r.Context() {
				r = r.WithContext(ctx)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Context returns a context with the trace id of a call: that of the span it belongs to, else that of the
// header traceparent (W3C Trace Context), else a new one.
func (o TraceOptions) Context(ctx context.Context, traceparent string) context.Context {
	id := ""
	if o.SpanTraceID != nil {
		id = o.SpanTraceID(ctx)
	}
	if id == "" {
		id = traceID(traceparent)
	}
	switch {
	case id != "":
	case o.NewID != nil:
		id = o.NewID()
	default:
		id = problem.NewTraceID()
	}
	if c := call.Of(ctx); c != nil && !c.HasScope() {
		c.SetScope(id, o.Logger)
		return ctx
	}
	return problem.WithTrace(ctx, id, o.Logger)
}

// traceID returns the trace id of a traceparent; empty when it has none.
func traceID(traceparent string) string {
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

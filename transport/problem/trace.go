package problem

import (
	"context"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"

	"github.com/otkit/otkit/transport/internal/call"
)

func scopeOf(ctx context.Context) *call.Scope {
	s, _ := ctx.Value(call.ScopeKey).(*call.Scope)
	return s
}

// WithTrace returns a context for one request: its trace id, and the logger for what goes wrong in it.
// A nil logger stands for slog.Default.
func WithTrace(ctx context.Context, traceID string, log *slog.Logger) context.Context {
	return context.WithValue(ctx, call.ScopeKey, &call.Scope{TraceID: traceID, Log: log})
}

// TraceID returns the request's trace id. It is empty outside of WithTrace.
func TraceID(ctx context.Context) string {
	if s := scopeOf(ctx); s != nil {
		return s.TraceID
	}
	return ""
}

// NewTraceID returns a random trace id in the form of W3C Trace Context: 32 hexadecimal digits. It
// identifies a request in logs and is not secret.
func NewTraceID() string {
	var b [16]byte
	for i := range 2 {
		for j, n := 0, rand.Uint64(); j < 8; j, n = j+1, n>>8 {
			b[i*8+j] = byte(n)
		}
	}
	b[0] |= 1 // all zeros is not a valid id
	var text [32]byte
	hex.Encode(text[:], b[:])
	return string(text[:])
}

// SetSubject notes who the caller is, for log lines; outer layers see it too. Outside of WithTrace
// it does nothing.
func SetSubject(ctx context.Context, subject string) {
	if s := scopeOf(ctx); s != nil {
		s.Subject.Store(&subject)
	}
}

// Subject returns the subject set by SetSubject, or the empty string.
func Subject(ctx context.Context) string {
	if s := scopeOf(ctx); s != nil {
		if p := s.Subject.Load(); p != nil {
			return *p
		}
	}
	return ""
}

// Report logs an error that is answered as an internal one, or within an answer, and returns the trace id for the answer. That there is no
// usable model is a warning: so it is before the first training.
func Report(ctx context.Context, err error, attrs ...slog.Attr) (traceID string) {
	log := slog.Default()
	if s := scopeOf(ctx); s != nil {
		traceID = s.TraceID
		if s.Log != nil {
			log = s.Log
		}
	}
	if traceID == "" {
		traceID = NewTraceID()
	}
	attrs = append(attrs, slog.String("traceId", traceID), slog.Any("error", err))
	level := slog.LevelError
	if FaultOf(err).Code == "MODEL_NOT_AVAILABLE" {
		level = slog.LevelWarn
	}
	log.LogAttrs(ctx, level, "request failed", attrs...)
	return traceID
}

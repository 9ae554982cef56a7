package alertsource

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alarms"
)

// The keys of alarms about the intake of alerts.
const (
	truncatedKey = "alerting:webhook:truncated"
	fullKey      = "alerting:webhook:full"
)

// raisePlatform raises an alarm of the platform itself and reports whether it is new. What fails is logged: it
// must not stop what it is about.
func raisePlatform(ctx context.Context, a Alarms, log *slog.Logger, key, message string) bool {
	results, err := a.Apply(ctx, []alarms.Signal{{Raise: &alarms.Alarm{Key: key, Source: "alerting", SourceType: "Equipment",
		Severity: alarms.Warning, Message: message}}})
	if err != nil {
		log.Error("failed to raise an alarm of the platform", "alarm", key, "message", message, "error", err)
		return false
	}
	return results[0].Changed == alarms.Raised
}

// clearPlatform clears such an alarm if it is active and was not raised after a time, which may be zero.
func clearPlatform(ctx context.Context, a Alarms, log *slog.Logger, key string, notAfter time.Time) {
	if _, err := a.Apply(ctx, []alarms.Signal{{Key: key, NotAfter: notAfter}}); err != nil {
		log.Error("failed to clear an alarm of the platform", "alarm", key, "error", err)
	}
}

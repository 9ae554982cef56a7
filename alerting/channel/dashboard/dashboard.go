package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/alerting"
)

// Broadcaster tells every connected browser. It must not block.
type Broadcaster interface {
	// ReceiveAlarm calls the function of this name in each browser with three texts: the message, the
	// severity (Info, Warning or Critical) and the time (RFC 3339, UTC).
	ReceiveAlarm(message, severity, timestamp string) error
}

// Channel pushes to a hub. Safe for concurrent use.
type Channel struct{ hub Broadcaster }

// New makes the channel.
func New(hub Broadcaster) (*Channel, error) {
	if hub == nil {
		return nil, errors.New("dashboard: a hub is required")
	}
	return &Channel{hub}, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelDashboard }

// TakesKey implements alerting.Idempotent. The hub lives and dies with the process: what was pushed
// before a crash went to connections that are gone, and no connection is told twice.
func (c *Channel) TakesKey() bool { return true }

// Send implements alerting.Channel. The message is the alarm's own text, after "Resolved: " when it has
// cleared.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	if err := ctx.Err(); err != nil {
		return alerting.Retryable(err, 0)
	}
	message := n.Message
	if n.Resolved {
		message = "Resolved: " + message
	}
	if err := c.hub.ReceiveAlarm(message, n.Severity.Wire(), n.At.UTC().Format(time.RFC3339Nano)); err != nil {
		return alerting.Retryable(err, 0)
	}
	return nil
}

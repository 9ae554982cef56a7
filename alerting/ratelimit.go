package alerting

import (
	"time"

	"github.com/otkit/otkit/alarms"
)

// RateLimit limits the messages to one recipient. A channel that is not a [RecipientLister] counts as one recipient. When more
// messages are due than the limit allows, the last one is a digest of the others.
type RateLimit struct {
	Burst    int           // messages in a row; negative for no limit; default 30
	Interval time.Duration // time after which one more is allowed; default 10 s
}

// DigestContent describes the messages that a digest combines.
type DigestContent struct {
	ID       string          // of the digest: Notification.ID
	Severity alarms.Severity // the highest
	From, To time.Time       // the earliest and the latest Notification.At
}

package dispatch

import (
	"time"

	"github.com/otkit/otkit/alerting"
)

// bucket is the token bucket of one recipient. Not safe for concurrent use.
type bucket struct {
	limit  alerting.RateLimit
	tokens float64
	at     time.Time // when tokens was right
}

func newBucket(f alerting.RateLimit, now time.Time) *bucket {
	return &bucket{limit: f, tokens: float64(f.Burst), at: now}
}

func (b *bucket) unlimited() bool { return b.limit.Burst < 0 }

// available returns the number of messages that may be sent now. Setting the clock back adds nothing.
func (b *bucket) available(now time.Time) int {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(float64(b.limit.Burst), b.tokens+float64(passed)/float64(b.limit.Interval))
	}
	b.at = now
	return int(b.tokens)
}

// restore takes the messages into account that were sent before a restart, ascending by time. It returns fewer than there really
// were rather than more: what it does not know of has used up everything.
func (b *bucket) restore(sent []time.Time, now time.Time) {
	if b.unlimited() || len(sent) == 0 {
		return
	}
	b.tokens, b.at = 0, now.Add(-b.window())
	for _, at := range sent {
		if at.After(now) {
			at = now
		}
		b.available(at)
		b.tokens = max(b.tokens-1, 0)
	}
	b.available(now)
}

// window is the time in which an empty bucket becomes full.
func (b *bucket) window() time.Duration { return time.Duration(b.limit.Burst) * b.limit.Interval }

func (b *bucket) take() {
	if !b.unlimited() {
		b.tokens--
	}
}

// next returns the wait until a message may be sent, when none may now.
func (b *bucket) next() time.Duration {
	return time.Duration((1 - b.tokens) * float64(b.limit.Interval))
}

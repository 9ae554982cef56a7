package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/backoff"
)

// Options of a [Dispatcher]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	NewID  func() string    // must return ascending UUIDs; default UUIDv7
	Logger *slog.Logger     // default: nothing is logged

	// Owner is the name with which deliveries are claimed. Two dispatchers that run at the same time must not have the same. With a
	// name that stays the same over a restart, the dispatcher continues immediately with what it had claimed before a crash; otherwise
	// that waits until Lease is over. Default: random.
	Owner string
	// Alive returns the Owners of the dispatchers that run, this one included. What one that is not in it any more had claimed is sent by the others
	// after 5 s. While Owner is not in it, this dispatcher sends nothing: the others may take it for gone. It must not wait. Default: claims end with
	// their Lease.
	Alive func() []string

	// StartAfter is the number of the last journal event that a new outbox skips. Default 0: every event is planned.
	StartAfter int64

	Routes alerting.Routes // default [alerting.DefaultRoutes]
	// Unrouted are the channels that notify of no alarm. [New] refuses any other channel that is in no route.
	Unrouted []string
	// Templates are the texts of messages by channel; those of "" apply to all others.
	Templates map[string]alerting.TemplateText
	// RateLimits limit the messages to each recipient by channel; that of "" applies to all others except dashboard and webhook, which
	// have no limit unless they are named.
	RateLimits map[string]alerting.RateLimit
	// DigestLink returns where the messages of a digest are listed. A channel that shortens texts shows it, so that it does not hide
	// alarms. Default: digests have no link.
	DigestLink func(alerting.DigestContent) string

	// DeliveryTimeout is the time after which a message that was not sent becomes a dead letter. Setting the clock forward does not
	// shorten it. Default 24 h.
	DeliveryTimeout time.Duration
	Retention       time.Duration // of sent messages and dead letters; default 30 days
	// ActiveRetention is the retention while the alarm is active, so that its recipients are notified of its end. Default a year, or
	// Retention if that is longer.
	ActiveRetention time.Duration
	PollInterval    time.Duration // between reads of journal and outbox; default 500 ms
	SendTimeout     time.Duration // of one message; default 30 s
	Lease           time.Duration // of a claim; above SendTimeout; default 2 min
	ShutdownTimeout time.Duration // of messages that are being sent when Close is called; default 5 s

	MinBackoff time.Duration // wait after the first failure; doubles with each; default 1 s
	MaxBackoff time.Duration // default 5 min
	// MaxRetryAfter is the longest pause that a peer can ask for. Default 30 min.
	MaxRetryAfter time.Duration
	// AmbiguousDelay is the least wait before a message is repeated that may have arrived, on a channel that does not accept a key.
	// Default 1 min.
	AmbiguousDelay time.Duration
	Jitter         func() float64 // 0 <= x < 1; waits are 75% to 125% of their setting; default random

	// OnDeadLetter is called with the dead letters of each channel: at the start, and when their number changes. It is called again
	// later if it fails. [DeadLetterKey] is the key of an alarm about them.
	OnDeadLetter func(ctx context.Context, channel string, dead outbox.DeadLetterCount) error
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = canon.NewID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	o.Owner = cmp.Or(o.Owner, o.NewID())
	o.DeliveryTimeout = cmp.Or(o.DeliveryTimeout, 24*time.Hour)
	o.Retention = cmp.Or(o.Retention, 30*24*time.Hour)
	o.ActiveRetention = cmp.Or(o.ActiveRetention, max(365*24*time.Hour, o.Retention))
	o.PollInterval = cmp.Or(o.PollInterval, 500*time.Millisecond)
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.ShutdownTimeout = cmp.Or(o.ShutdownTimeout, 5*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 5*time.Minute)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 30*time.Minute)
	o.AmbiguousDelay = cmp.Or(o.AmbiguousDelay, time.Minute)
	return o, o.check()
}

func (o Options) check() error {
	for _, rule := range []struct {
		ok          bool
		field, text string
	}{
		{o.StartAfter >= 0, "StartAfter", "must not be negative"},
		{o.DeliveryTimeout > 0, "DeliveryTimeout", "must be above 0"},
		{o.Retention >= o.DeliveryTimeout, "Retention", "must be at least DeliveryTimeout"},
		{o.ActiveRetention >= o.Retention, "ActiveRetention", "must be at least Retention"},
		{o.PollInterval > 0, "PollInterval", "must be above 0"},
		{o.SendTimeout > 0, "SendTimeout", "must be above 0"},
		{o.Lease > o.SendTimeout, "Lease", "must be above SendTimeout"},
		{o.ShutdownTimeout > 0, "ShutdownTimeout", "must be above 0"},
		{o.MinBackoff > 0 && o.MinBackoff <= o.MaxBackoff, "MinBackoff", "must be above 0 and at most MaxBackoff"},
		{o.MaxRetryAfter > 0, "MaxRetryAfter", "must be above 0"},
		{o.AmbiguousDelay > 0, "AmbiguousDelay", "must be above 0"},
	} {
		if !rule.ok {
			return fault.Option("dispatch", "Options."+rule.field, "%s", rule.text)
		}
	}
	for name, l := range o.RateLimits {
		if l.Interval < 0 {
			return fault.Option("dispatch", fmt.Sprintf("Options.RateLimits[%q].Interval", name), "must not be negative, not %s", l.Interval)
		}
	}
	return nil
}

// isAlive reports whether this dispatcher may send.
func (o *Options) isAlive() bool { return o.Alive == nil || slices.Contains(o.Alive(), o.Owner) }

// rateLimit returns the limit of a channel.
func (o *Options) rateLimit(channel string) alerting.RateLimit {
	f, named := o.RateLimits[channel]
	if !named {
		if channel == alerting.ChannelDashboard || channel == alerting.ChannelWebhook {
			return alerting.RateLimit{Burst: -1}
		}
		f = o.RateLimits[""]
	}
	f.Burst = cmp.Or(f.Burst, 30)
	f.Interval = cmp.Or(f.Interval, 10*time.Second)
	return f
}

// backoff returns the wait after a number of failures, with jitter.
func (o *Options) backoff(failures int) time.Duration {
	return o.jittered(backoff.Delay(o.MinBackoff, o.MaxBackoff, failures))
}

// ahead returns how far from now the next attempt of a delivery can be, for a channel with a limit.
func (o *Options) ahead(f alerting.RateLimit) time.Duration {
	longest := max(o.MaxBackoff*5/4, o.MaxRetryAfter, o.AmbiguousDelay)
	if f.Burst >= 0 {
		longest = max(longest, f.Interval)
	}
	return longest + time.Second // several engines may have clocks that differ a little
}

func (o *Options) jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + o.Jitter()/2))
}

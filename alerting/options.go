package alerting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Options of a [Dispatcher]. The zero value works.
type Options struct {
	Now    func() time.Time // default time.Now
	NewID  func() string    // must give UUIDs that ascend; default UUIDv7
	Logger *slog.Logger     // default: nothing is logged

	// Owner is the name under which deliveries are claimed; no two dispatchers that run at the same
	// time may have the same. One that is kept over a restart lets the dispatcher go on at once with
	// what it had claimed before a crash; otherwise that waits until Lease is over. Default: random.
	Owner string

	// StartAfter is the number of the last event of the journal that an outbox which has planned
	// nothing passes over. Default 0: every event is told, however old.
	StartAfter int64

	Routes Routes // default [DefaultRoutes]
	// Templates are the texts of messages by channel; those of "" are for all the others.
	Templates map[string]TemplateText

	// MaxAge is how long after it was planned a message that could not be sent becomes a dead letter. That
	// the clock is set forward while the dispatcher runs makes it no shorter. Default 24 h.
	MaxAge time.Duration
	Keep   time.Duration // sent deliveries and dead letters are forgotten after this; default 30 days
	// KeepStanding is how long they are kept while their alarm stands, so that those who were told of it
	// hear of its end. Default a year, or Keep if that is longer.
	KeepStanding time.Duration
	Poll         time.Duration // how often journal and outbox are looked at unasked; default 500 ms
	SendTimeout  time.Duration // of one message; default 30 s
	Lease        time.Duration // for how long deliveries are claimed; above SendTimeout; default 2 min
	Grace        time.Duration // how long Close lets messages end that are being sent; default 5 s

	MinBackoff time.Duration // wait after the first failure; doubles with each; default 1 s
	MaxBackoff time.Duration // default 5 min
	// MaxRetryAfter is the longest time that a peer may ask to be left alone for; one that asks for
	// more gets this. Default 30 min.
	MaxRetryAfter time.Duration
	// AmbiguousWait is the least wait before a message is repeated that may have arrived, on a channel
	// that does not take a key. Default 1 min.
	AmbiguousWait time.Duration
	Jitter        func() float64 // 0 <= x < 1; waits are 75% to 125% of what they are set to; default random

	// Flood limits what each channel is told, by its name; that of "" is for all the others except
	// dashboard and webhook, which have no limit unless they are named here.
	Flood map[string]Flood

	// OnDead is told of the dead letters of each channel: at the start, and when there are others.
	// It is called again later when it fails. [DeadLetterKey] is for an alarm that says so.
	OnDead func(ctx context.Context, channel string, dead DeadCount) error
}

// Flood limits what one recipient is told; a channel that is not [Addressed] counts as one. It lets
// Burst messages through at once and one more for each Every. When more are due, the last
// one let through is a digest of all the others. The zero Flood is 30 at once and one each 10 s; a
// negative Burst is no limit.
type Flood struct {
	Burst int
	Every time.Duration
}

func (o Options) withDefaults() (Options, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	o.Owner = cmp.Or(o.Owner, o.NewID())
	o.MaxAge = cmp.Or(o.MaxAge, 24*time.Hour)
	o.Keep = cmp.Or(o.Keep, 30*24*time.Hour)
	o.KeepStanding = cmp.Or(o.KeepStanding, max(365*24*time.Hour, o.Keep))
	o.Poll = cmp.Or(o.Poll, 500*time.Millisecond)
	o.SendTimeout = cmp.Or(o.SendTimeout, 30*time.Second)
	o.Lease = cmp.Or(o.Lease, 2*time.Minute)
	o.Grace = cmp.Or(o.Grace, 5*time.Second)
	o.MinBackoff = cmp.Or(o.MinBackoff, time.Second)
	o.MaxBackoff = cmp.Or(o.MaxBackoff, 5*time.Minute)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 30*time.Minute)
	o.AmbiguousWait = cmp.Or(o.AmbiguousWait, time.Minute)
	return o, o.check()
}

func (o Options) check() error {
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{o.StartAfter >= 0, "StartAfter must not be negative"},
		{o.MaxAge > 0, "MaxAge must be above 0"},
		{o.Keep >= o.MaxAge, "Keep must be at least MaxAge"},
		{o.KeepStanding >= o.Keep, "KeepStanding must be at least Keep"},
		{o.Poll > 0, "Poll must be above 0"},
		{o.SendTimeout > 0, "SendTimeout must be above 0"},
		{o.Lease > o.SendTimeout, "Lease must be above SendTimeout"},
		{o.Grace > 0, "Grace must be above 0"},
		{o.MinBackoff > 0 && o.MinBackoff <= o.MaxBackoff, "MinBackoff must be above 0 and at most MaxBackoff"},
		{o.MaxRetryAfter > 0, "MaxRetryAfter must be above 0"},
		{o.AmbiguousWait > 0, "AmbiguousWait must be above 0"},
	} {
		if !rule.ok {
			return errors.New("alerting: Options." + rule.text)
		}
	}
	for name, f := range o.Flood {
		if f.Every < 0 {
			return fmt.Errorf("alerting: Options.Flood[%q].Every must not be negative", name)
		}
	}
	return nil
}

// flood gives the limit of a channel.
func (o *Options) flood(channel string) Flood {
	f, named := o.Flood[channel]
	if !named {
		if channel == ChannelDashboard || channel == ChannelWebhook {
			return Flood{Burst: -1}
		}
		f = o.Flood[""]
	}
	f.Burst = cmp.Or(f.Burst, 30)
	f.Every = cmp.Or(f.Every, 10*time.Second)
	return f
}

// backoff is the wait after a number of failures, with jitter.
func (o *Options) backoff(failures int) time.Duration {
	wait := o.MaxBackoff
	if n := max(failures, 1) - 1; n < 40 && o.MinBackoff<<n > 0 && o.MinBackoff<<n < o.MaxBackoff {
		wait = o.MinBackoff << n
	}
	return o.jittered(wait)
}

// ahead is how far from now the next attempt of a delivery can be, for a channel with a limit.
func (o *Options) ahead(f Flood) time.Duration {
	longest := max(o.MaxBackoff*5/4, o.MaxRetryAfter, o.AmbiguousWait)
	if f.Burst >= 0 {
		longest = max(longest, f.Every)
	}
	return longest + time.Second // several engines may have clocks that differ a little
}

func (o *Options) jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + o.Jitter()/2))
}

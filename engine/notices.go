package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/alarms"
)

// Keys of alarms about the platform itself that notices raise.
const (
	webhookRefused = "platform:webhook-refused"
	tagCapReached  = "platform:tags-without-token"
)

// noticeEvery is how far apart an alarm of notices comes again, and how long it stays after the last cause.
const noticeEvery = time.Hour

// notices raise alarms about what callers meet: each key at most hourly. Such an alarm ends when nothing has happened
// for an hour.
type notices struct {
	service *alarms.Service
	now     func() time.Time
	log     *slog.Logger
	wake    chan struct{} // holds one token when something is to be raised

	mu    sync.Mutex
	known map[string]*notice
}

type notice struct {
	message string
	raised  time.Time // when it was last raised; zero for never
	seen    time.Time // when it last happened
	due     bool
}

func newNotices(service *alarms.Service, now func() time.Time, log *slog.Logger) *notices {
	start := now() // what an engine before this one has raised ends an hour from now
	return &notices{service: service, now: now, log: log, wake: make(chan struct{}, 1),
		known: map[string]*notice{webhookRefused: {seen: start}, tagCapReached: {seen: start}}}
}

// raise reports that something has happened. It does not wait.
func (n *notices) raise(key, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.known[key]
	now := n.now()
	k.seen = now
	if k.due || !k.raised.IsZero() && now.Sub(k.raised) < noticeEvery {
		return
	}
	k.message, k.raised, k.due = message, now, true
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// run raises and ends alarms until ctx ends.
func (n *notices) run(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.wake:
		}
		n.settle(ctx)
	}
}

func (n *notices) settle(ctx context.Context) {
	n.mu.Lock()
	now := n.now()
	messages, quiet := map[string]string{}, map[string]time.Time{}
	for key, k := range n.known {
		switch {
		case k.due:
			messages[key], k.due = k.message, false
		case !k.seen.IsZero() && now.Sub(k.seen) >= noticeEvery:
			quiet[key] = k.seen
		}
	}
	n.mu.Unlock()
	for key, message := range messages {
		err := n.apply(ctx, key, message)
		if err != nil {
			n.failed(ctx, key, err)
		}
		n.mu.Lock()
		if k := n.known[key]; err != nil {
			k.due = true // the next tick tries again
		} else {
			k.seen = n.now() // not before it was raised
		}
		n.mu.Unlock()
	}
	for key, seen := range quiet { // what was raised since then is of another engine
		if _, err := n.service.Apply(ctx, []alarms.Signal{{Key: key, NotAfter: seen}}); err != nil {
			n.failed(ctx, key, err)
			continue
		}
		n.mu.Lock()
		if k := n.known[key]; now.Sub(k.seen) >= noticeEvery {
			k.seen = time.Time{}
		}
		n.mu.Unlock()
	}
}

func (n *notices) failed(ctx context.Context, key string, err error) {
	if ctx.Err() == nil {
		n.log.Error("failed to store an alarm about the platform; retrying", "key", key, "error", err)
	}
}

// apply raises an alarm. One that is active and was acknowledged ends first, so that messages are sent again.
func (n *notices) apply(ctx context.Context, key, message string) error {
	raise := alarms.Signal{Key: key, Raise: &alarms.Alarm{Key: key, Source: "engine", SourceType: "Equipment", Severity: alarms.Warning, Message: message}}
	signals := []alarms.Signal{raise}
	c, err := n.service.Condition(ctx, alarms.ByKey(key))
	switch {
	case err != nil && !errors.Is(err, alarms.ErrAlarmNotFound):
		return err
	case err == nil && c.Last != nil && c.Last.Active && c.Last.Acknowledged():
		signals = []alarms.Signal{{Key: key, NotAfter: c.Last.RaisedAt}, raise} // another engine may do the same
	}
	_, err = n.service.Apply(ctx, signals)
	return err
}

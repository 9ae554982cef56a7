// How do I keep notifications that wait in a store of my own? Implement outbox.Store: the one in store.go has the seven
// required methods alone. What needs an optional interface (digests, retention, rate limits over a restart, the list of
// dead letters) is off.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/silences"
)

// horn is a channel: it writes a line for each alarm.
type horn struct {
	out  io.Writer
	sent chan struct{}
}

// Name implements alerting.Channel.
func (h *horn) Name() string { return "horn" }

// Send implements alerting.Channel.
func (h *horn) Send(_ context.Context, n alerting.Notification) error {
	if _, err := fmt.Fprintln(h.out, "HONK", n.Title); err != nil {
		return alerting.Retryable(err, 0)
	}
	h.sent <- struct{}{}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run raises three alarms. Without digests, what exceeds the rate limit waits, and all are sent one by one.
func run(ctx context.Context, out io.Writer) (err error) {
	plant, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plant.Close(ctx)) }()
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		return err
	}
	h := &horn{out: out, sent: make(chan struct{}, 3)}
	dispatcher, err := dispatch.New(dispatch.Deps{Journal: plant, Outbox: newOutbox(), Silences: quiet, Channels: []alerting.Channel{h}},
		dispatch.Options{
			Routes: alerting.Routes{alarms.Critical: {"horn"}},
			// What exceeds this would be combined in a digest, if the outbox were an outbox.DigestSplitter.
			RateLimits: map[string]alerting.RateLimit{"horn": {Burst: 1, Interval: 100 * time.Millisecond}},
		})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dispatcher.Close(context.WithoutCancel(ctx))) }()
	dispatcher.Start()
	for _, boiler := range []string{"boiler-1", "boiler-2", "boiler-3"} {
		if _, err := plant.Raise(ctx, alarms.Alarm{Key: "app:" + boiler, Source: boiler, Message: "pressure too high", Severity: alarms.Critical}); err != nil {
			return err
		}
	}
	dispatcher.Wake()
	for range 3 {
		select {
		case <-h.sent:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// How do I send notifications through a channel of my own? A channel is a name and a method Send. A
// dispatcher sends it every alarm that the routes select it for, and tries again when Send fails.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// horn is a channel: it writes a line for each alarm.
type horn struct {
	out  io.Writer
	told chan struct{}
}

// Name implements alerting.Channel.
func (h *horn) Name() string { return "horn" }

// Send implements alerting.Channel.
func (h *horn) Send(_ context.Context, n alerting.Notification) error {
	if _, err := fmt.Fprintln(h.out, "HONK", n.Title); err != nil {
		return alerting.Retryable(err, 0) // the line was not written
	}
	h.told <- struct{}{}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	plant, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = plant.Close(ctx) }()
	messages := outbox.NewMemory()
	silences, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		return err
	}
	h := &horn{out: out, told: make(chan struct{}, 1)}
	dispatcher, err := dispatch.New(dispatch.Deps{
		Journal: plant, Outbox: messages, DeadLetters: messages, Silences: silences, History: history.NewMemory(), Channels: []alerting.Channel{h},
	}, dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"horn"}}})
	if err != nil {
		return err
	}
	defer func() { _ = dispatcher.Close(ctx) }()
	dispatcher.Start()

	_, err = plant.Raise(ctx, alarms.Alarm{Key: "app:boiler-1", Source: "boiler-1", Message: "pressure too high", Severity: alarms.Critical})
	if err != nil {
		return err
	}
	dispatcher.Wake()
	select {
	case <-h.told:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package dispatch_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// board is a channel of one's own.
type board struct{ told chan alerting.Notification }

func (b board) Name() string { return "board" }

func (b board) Send(_ context.Context, n alerting.Notification) error {
	b.told <- n
	return nil
}

func Example() {
	ctx := context.Background()
	plant, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = plant.Close(ctx) }()
	messages := outbox.NewMemory()
	silences, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := board{make(chan alerting.Notification)}
	dispatcher, err := dispatch.New(dispatch.Deps{
		Journal: plant, Outbox: messages, DeadLetters: messages, Silences: silences, History: history.NewMemory(), Channels: []alerting.Channel{b},
	}, dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"board"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = dispatcher.Close(ctx) }()
	dispatcher.Start()

	_, err = plant.Raise(ctx, alarms.Alarm{Key: "app:pump-1", Source: "pump-1", Message: "too hot", Severity: alarms.Critical})
	if err != nil {
		fmt.Println(err)
		return
	}
	dispatcher.Wake()
	fmt.Println((<-b.told).Title)
	// Output: [Critical] pump-1: too hot
}

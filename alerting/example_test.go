package alerting_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
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
	defer func() { _ = plant.Close() }()
	store := alerting.NewMemory()
	silences, err := alerting.NewSilences(store, alerting.SilencesOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := board{make(chan alerting.Notification)}
	dispatcher, err := alerting.NewDispatcher(alerting.Deps{
		Journal: plant, Outbox: store, DeadLetters: store, Silences: silences, History: store, Channels: []alerting.Channel{b},
	}, alerting.Options{Routes: alerting.Routes{alarms.Critical: {"board"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dispatcher.Close()
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

package bridgealarms_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/bridgealarms"
	"github.com/otkit/otkit/discovery"
)

// lost is a plant with a bridge that does not open its link.
type lost struct{}

func (lost) States() []discovery.Info {
	return []discovery.Info{{Binding: discovery.Binding{BridgeID: "press-1"}, Down: true}}
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	raised, err := service.Subscribe(alarms.SubscribeOptions{})
	if err != nil {
		panic(err)
	}
	defer raised.Close()
	monitor, err := bridgealarms.New(service, bridgealarms.Options{})
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		monitor.Run(ctx, lost{})
	}()
	events, err := raised.Next(ctx, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(events[0].Kind, events[0].Occurrence.Key)
	cancel()
	<-done
	// Output: Raised bridge-offline:press-1
}

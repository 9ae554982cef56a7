package devicealarms_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
)

// robot is a device that reports a fault. In an application, the source is a devices.Service.
type robot struct{}

func (robot) Changes(ctx context.Context, after uint64) ([]devices.Device, uint64, error) {
	if after > 0 {
		<-ctx.Done()
		return nil, after, context.Cause(ctx)
	}
	t := &devices.Telemetry{State: devices.Error, Faults: []string{"drive blocked"}}
	return []devices.Device{{ID: "agv-1", State: devices.Error, Telemetry: t}}, 1, nil
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = service.Close(ctx) }()
	raised, err := service.Subscribe(alarms.SubscribeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer raised.Close()
	monitor, err := devicealarms.New(robot{}, service, devicealarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan struct{})
	go func() { defer close(ended); monitor.Run(ctx) }()
	events, err := raised.Next(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(events[0].Occurrence.Severity, events[0].Occurrence.Message)
	cancel()
	<-ended
	// Output: Error Device agv-1 reports a fault: drive blocked
}

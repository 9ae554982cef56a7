package driveralarms_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/tags"
)

// plant has one driver, which cannot reach its device. In an application, the source is a tags.Engine.
type plant struct{}

func (plant) Drivers() []tags.DriverStatus {
	return []tags.DriverStatus{{ID: "plc1", Type: "modbus", State: tags.DriverBackoff, LastError: "connection refused"}}
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
	monitor, err := driveralarms.New(plant{}, service, driveralarms.Options{Delay: time.Millisecond})
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
	// Output: Error Driver plc1 (modbus) is offline: the device cannot be reached (Backoff); last error: connection refused
}

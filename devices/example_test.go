package devices_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/simexec"
)

func Example() {
	robots, err := simexec.New(simexec.Options{Step: 10 * time.Millisecond, Robots: []simexec.Robot{{ID: "agv-1", Map: "hall", X: 5, Y: 5, Speed: 10}}})
	if err != nil {
		panic(err)
	}
	policies, err := safety.New(safety.Options{Device: safety.Device{MaxSpeed: 10}, Zones: []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {40, 0}, {40, 20}, {0, 20}}}}}})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plant, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: policies, Executor: func(string) devices.Executor { return robots }})
	if err != nil {
		panic(err)
	}
	defer func() { _ = plant.Close(context.Background()) }()
	if _, err := plant.Create(ctx, "agv-1", "Transport robot", ""); err != nil {
		panic(err)
	}
	go func() { _ = robots.Run(ctx, plant.Report) }()
	for position := uint64(1); ; { // until the robot has reported
		if d, err := plant.Get("agv-1"); err == nil && d.State == devices.Idle {
			break
		}
		if _, position, err = plant.Changes(ctx, position); err != nil {
			panic(err)
		}
	}

	for i, x := range []float64{8, 80} {
		r, err := plant.Submit(ctx, devices.Command{ID: fmt.Sprint(i), DeviceID: "agv-1", Type: devices.MoveTo, Parameters: map[string]any{"x": x, "y": 5.0}}, "anna")
		fmt.Println(r.Phase, r.Result.Data["x"], err)
	}
	// Output:
	// Succeeded 8 <nil>
	// Refused <nil> Safety violation
}

// How do I command a machine of my own, and add a rule of my own to the safety policies? A conveyor that is driven by a function,
// and a policy that lets it run in the day shift only.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
)

// dayShift is a safety.Policy.
type dayShift struct{ from, to int }

func (dayShift) Name() string { return "day shift" }

func (p dayShift) Check(s devices.Situation) devices.Verdict {
	hour := s.Now.Hour()
	return devices.Verdict{Allowed: hour >= p.from && hour < p.to, Reason: fmt.Sprintf("it is %d o'clock, the shift is from %d to %d", hour, p.from, p.to)}
}

// conveyor is a devices.Executor. A real one talks to the machine.
type conveyor struct{ metres float64 }

func (c *conveyor) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	metres, ok := o.Parameters["metres"].(float64)
	if o.Type != "Advance" || !ok {
		return nil, fmt.Errorf("the conveyor cannot %s", o.Type)
	}
	c.metres += metres
	return map[string]any{"position": c.metres}, ctx.Err()
}

func (c *conveyor) Stop(context.Context, string) error { return nil }

func main() {
	if err := run(context.Background(), time.Now); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, now func() time.Time) error {
	policies, err := safety.New(safety.Options{
		Zones:   []safety.Zone{{Name: "line 1", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {20, 0}, {20, 5}, {0, 5}}}}},
		Devices: map[string]safety.Device{"conveyor-1": {Mains: true}},
	})
	if err != nil {
		return err
	}
	policies, err = policies.Append(dayShift{from: 6, to: 22})
	if err != nil {
		return err
	}
	machine := &conveyor{}
	plant, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: policies, Now: now,
		Executor: func(string) devices.Executor { return machine }})
	if err != nil {
		return err
	}
	defer func() { _ = plant.Close(context.WithoutCancel(ctx)) }()
	if _, err := plant.Create(ctx, "conveyor-1", "Conveyor of line 1", ""); err != nil {
		return err
	}
	report := devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 10, Y: 2}}
	if err := plant.Report("conveyor-1", report); err != nil {
		return err
	}
	for i, kind := range []string{"Advance", "Dance"} {
		r, err := plant.Submit(ctx, devices.Command{ID: fmt.Sprint(i), DeviceID: "conveyor-1", Type: kind, Parameters: map[string]any{"metres": 1.5}}, "anna")
		if err != nil {
			fmt.Println(err, "-", r.Decision.Reason)
			continue
		}
		fmt.Printf("%s %v %q\n", r.Phase, r.Result.Data, r.Result.Message)
	}
	return nil
}

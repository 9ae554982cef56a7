// How do I command a vehicle that speaks VDA 5050? Start a broker and a vehicle, then this program, which sends it 3 metres forward:
//
//	mosquitto -p 1883
//	go run ./examples/vda5050-vehicle -broker mqtt://127.0.0.1:1883 -x 5 -y 5
//	go run ./examples/vda5050-fleet -broker mqtt://127.0.0.1:1883
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/vda5050"
)

func main() {
	broker := flag.String("broker", "mqtt://127.0.0.1:1883", "`URL` of the broker")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *broker); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, broker string) error {
	policies, err := safety.New(safety.Options{Zones: []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 50}, {0, 50}}}}}})
	if err != nil {
		return err
	}
	var fleet *vda5050.Fleet
	plant, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: policies, Executor: func(string) devices.Executor { return fleet }})
	if err != nil {
		return err
	}
	defer func() { _ = plant.Close(context.WithoutCancel(ctx)) }()
	if _, err := plant.Create(ctx, "agv-1", "Transport robot", ""); err != nil {
		return err
	}
	fleet, err = vda5050.Connect(ctx, vda5050.Options{URL: broker, Reports: plant,
		Vehicles: []vda5050.Vehicle{{DeviceID: "agv-1", Manufacturer: "otkit", SerialNumber: "agv-1"}}})
	if err != nil {
		return err
	}
	defer func() { _ = fleet.Close(context.WithoutCancel(ctx)) }()
	at, err := idle(ctx, plant)
	if err != nil {
		return err
	}
	r, err := plant.Submit(ctx, devices.Command{ID: fmt.Sprint(time.Now().UnixNano()), DeviceID: "agv-1", Type: devices.MoveTo,
		Parameters: map[string]any{"x": at.X + 3, "y": at.Y}}, "anna")
	if err != nil {
		return fmt.Errorf("%w: %s", err, r.Decision.Reason)
	}
	fmt.Println(r.Phase, r.Result.Data, r.Result.Message)
	return nil
}

// idle waits until the vehicle is ready, and returns where it is.
func idle(ctx context.Context, plant *devices.Service) (at devices.Pose, err error) {
	for position := uint64(1); ; {
		d, err := plant.Get("agv-1")
		if err != nil {
			return at, err
		}
		if d.State == devices.Idle && d.Telemetry.Pose != nil {
			return *d.Telemetry.Pose, nil
		}
		if _, position, err = plant.Changes(ctx, position); err != nil {
			return at, err
		}
	}
}

package vda5050_test

import (
	"context"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/vda5050"
)

// A fleet of one vehicle: what it reports reaches the devices, and their commands reach it. The program examples/vda5050-fleet is
// the whole of it.
func ExampleConnect() {
	ctx := context.Background()
	policies, err := safety.New(safety.Options{Zones: []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 50}, {0, 50}}}}}})
	if err != nil {
		panic(err)
	}
	var fleet *vda5050.Fleet
	plant, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: policies, Executor: func(string) devices.Executor { return fleet }})
	if err != nil {
		panic(err)
	}
	defer func() { _ = plant.Close(ctx) }()
	if _, err := plant.Create(ctx, "agv-1", "Transport robot", ""); err != nil {
		panic(err)
	}
	fleet, err = vda5050.Connect(ctx, vda5050.Options{URL: "mqtt://broker:1883", Reports: plant,
		Vehicles: []vda5050.Vehicle{{DeviceID: "agv-1", Manufacturer: "otkit", SerialNumber: "agv-1"}}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = fleet.Close(ctx) }()
	_, err = plant.Submit(ctx, devices.Command{ID: "1", DeviceID: "agv-1", Type: devices.MoveTo, Parameters: map[string]any{"x": 3.0, "y": 0.0}}, "anna")
	if err != nil {
		panic(err)
	}
}

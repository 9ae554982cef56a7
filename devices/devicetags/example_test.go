package devicetags_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/tags"
)

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	service := must(devices.New(ctx, devices.NewMemory(), devices.Options{Safety: must(safety.New(safety.Options{}))}))
	defer func() { _ = service.Close(ctx) }()
	must(service.Create(ctx, "agv-1", "Robot", ""))
	charge := 80.0
	if err := service.Report("agv-1", devices.Telemetry{State: devices.Idle, Battery: &charge}); err != nil {
		fmt.Println(err)
		return
	}
	driver := must(devicetags.New(service, devicetags.Options{}))
	engine := must(tags.New(tags.Options{}))
	defer func() { _ = engine.Close(ctx) }()
	list := devicetags.Tags(must(service.Get("agv-1")))
	if err := engine.AddDriver(devicetags.DriverID, driver, tags.DriverOptions{RefreshInterval: 10 * time.Second, Tags: list}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		s := must(engine.Read("devices.agv-1.battery"))
		if s.Sample.Quality == tags.Good {
			fmt.Println(s.Sample.Value, s.Tag.Unit)
			return
		}
		time.Sleep(time.Millisecond)
	}
	// Output: 80 %
}

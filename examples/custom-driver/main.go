// How do I connect equipment that otkit has no driver for? Implement tags.Driver: this one serves
// figures of the Go runtime as though it were a device.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/otkit/otkit/tags"
)

// runtimeDriver reads runtime metrics; a point's address is the metric's name.
type runtimeDriver struct{ connected bool }

func (d *runtimeDriver) Connect(ctx context.Context) error {
	d.connected = ctx.Err() == nil
	return ctx.Err()
}

func (d *runtimeDriver) Close() error {
	d.connected = false
	return nil
}

func (d *runtimeDriver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !d.connected:
		return tags.ErrNotConnected
	case len(points) == 0:
		return nil
	}
	samples := make([]metrics.Sample, len(points))
	for i, p := range points {
		samples[i].Name = p.Address
	}
	metrics.Read(samples)
	for i, s := range samples {
		switch s.Value.Kind() {
		case metrics.KindUint64:
			out[i] = tags.Reading{Value: tags.IntValue(int64(s.Value.Uint64())), Quality: tags.Good}
		case metrics.KindFloat64:
			out[i] = tags.Reading{Value: tags.FloatValue(s.Value.Float64()), Quality: tags.Good}
		default: // one bad address does not spoil the others
			out[i].Err = fmt.Errorf("%w: %s", tags.ErrNoSuchAddress, points[i].Address)
		}
	}
	return nil
}

func (d *runtimeDriver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !d.connected:
		return tags.ErrNotConnected
	}
	for i := range items {
		errs[i] = fmt.Errorf("%w: the runtime takes no writes", tags.ErrDevice)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, 5); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, readings int) error {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	err = engine.AddDriver("go", &runtimeDriver{}, tags.DriverOptions{PollInterval: 200 * time.Millisecond, Tags: []tags.Tag{
		{Name: "go.goroutines", Address: "/sched/goroutines:goroutines", DataType: tags.Int},
		{Name: "go.heap", Address: "/memory/classes/heap/objects:bytes", DataType: tags.Int, Unit: "B"},
		{Name: "go.nonsense", Address: "/no/such:metric", DataType: tags.Int},
	}})
	if err != nil {
		return err
	}
	sub, err := engine.Subscribe(tags.SubscribeOptions{Patterns: []string{"go.%"}, Throttle: 200 * time.Millisecond})
	if err != nil {
		return err
	}
	defer sub.Close()
	for range readings {
		changes, err := sub.Next(ctx, 0)
		if err != nil {
			return err
		}
		for _, c := range changes {
			fmt.Println(c.Tag.Name, c.Value, c.Quality, c.Reason)
		}
	}
	return nil
}

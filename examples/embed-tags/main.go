// How do I use the tag engine in my own program? A simulated device, polled every second, printed as
// it changes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, 10); err != nil {
		log.Fatal(err)
	}
}

// run prints so many changes of one tag.
func run(ctx context.Context, changes int) error {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx))
	driver, err := simdriver.New(simdriver.Options{Scenario: simdriver.RandomWalk})
	if err != nil {
		return err
	}
	flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float, Unit: "l/min"}
	if err := engine.AddDriver("pump", driver, tags.DriverOptions{Tags: []tags.Tag{flow}}); err != nil {
		return err
	}
	sub, err := engine.Subscribe(tags.SubscribeOptions{Names: []string{"pump.flow"}})
	if err != nil {
		return err
	}
	defer sub.Close()
	for range changes {
		change, err := sub.Next(ctx, 1)
		if err != nil {
			return err
		}
		fmt.Println(change[0].Tag.Name, change[0].Value, change[0].Quality)
	}
	return nil
}

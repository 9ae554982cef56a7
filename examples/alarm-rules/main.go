// How do I raise alarms by rules over my tags? A simulated temperature swings around a limit; the alarm is
// raised when it is above and cleared when it has come back.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, 6); err != nil {
		log.Fatal(err)
	}
}

// run prints so many events of the alarm.
func run(ctx context.Context, out io.Writer, events int) (err error) {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		return err
	}
	ending := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, engine.Close(ending)) }()
	store := alarms.NewMemory()
	service, err := alarms.New(ctx, store, alarms.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close(ctx)) }()
	evaluator, err := rules.New(ctx, rules.NewMemory(store), service, rules.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, evaluator.Close(ending)) }() // stores what waits, so before the service ends
	defer engine.Observe(evaluator.Observe)()

	sub, err := service.Subscribe(alarms.SubscribeOptions{All: true}) // without All: new alarms only
	if err != nil {
		return err
	}
	defer sub.Close()
	if _, err := evaluator.Add(ctx, rules.Rule{ID: "too-hot", Name: "Press too hot", Tag: "press.temperature",
		Kind: rules.High, Limit: 80, Deadband: 5, Severity: alarms.Warning, Enabled: true}); err != nil {
		return err
	}
	driver, err := simdriver.New(simdriver.Options{UpdateInterval: 100 * time.Millisecond, Signals: []simdriver.Signal{
		{Name: "temperature", Type: tags.Float, Unit: "°C", Max: 100, Shape: simdriver.Sine, Period: 2 * time.Second}}})
	if err != nil {
		return err
	}
	temperature := tags.Tag{Name: "press.temperature", Address: "temperature", DataType: tags.Float, Unit: "°C"}
	if err := engine.AddDriver("press", driver, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{temperature}}); err != nil {
		return err
	}
	for range events {
		list, err := sub.Next(ctx, 1)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, list[0].Kind, list[0].Occurrence.Severity, list[0].Occurrence.Message)
	}
	return nil
}

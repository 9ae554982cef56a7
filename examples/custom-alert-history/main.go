// How do I keep the history of alerts in a store of my own? Implement history.Store: the one in store.go keeps lines of
// JSON in a file and has only the three required methods. What needs an optional interface (statistics, retention, the
// receiver of alerts from other systems) is off and returns an error.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

func main() {
	if err := run(context.Background(), os.Stdout, filepath.Join(os.TempDir(), "alerts.jsonl")); err != nil {
		log.Fatal(err)
	}
}

// run raises an alarm and prints its record.
func run(ctx context.Context, out io.Writer, path string) error {
	store, err := openStore(path)
	if err != nil {
		return err
	}
	defer func() { _ = store.close() }()
	plant, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = plant.Close(ctx) }()
	quiet, err := silences.New(silences.NewMemory(), silences.Options{})
	if err != nil {
		return err
	}
	dispatcher, err := dispatch.New(dispatch.Deps{Journal: plant, Outbox: outbox.NewMemory(), Silences: quiet, History: store}, dispatch.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = dispatcher.Close(ctx) }()
	dispatcher.Start() // it writes a record for each alarm, with or without channels
	raised, err := plant.Raise(ctx, alarms.Alarm{Key: "app:boiler-1", Source: "boiler-1", Message: "pressure too high", Severity: alarms.Critical})
	if err != nil {
		return err
	}
	dispatcher.Wake()

	alerts, err := history.New(store)
	if err != nil {
		return err
	}
	for {
		list, _, err := store.Records(ctx, history.Filter{Source: "boiler-1", From: raised.RaisedAt}, 0, 1)
		if err != nil {
			return err
		}
		if len(list) == 1 {
			fmt.Fprintln(out, list[0].Severity, list[0].Source, list[0].Title)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, err = alerts.CountBySeverity(ctx, time.Time{}, time.Time{})
	fmt.Fprintln(out, err)
	return nil
}

// How do I raise and acknowledge an alarm in my own program? One alarm goes through its life: it is
// raised, an operator acknowledges it, and it clears.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/otkit/otkit/alarms"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closing := service.Close(ctx); err == nil {
			err = closing
		}
	}()
	const key = "app:pump-101-dry" // what can go wrong; the code stays the same each time that it does
	raised, err := service.Raise(ctx, alarms.Alarm{Key: key, Source: "P-101", Message: "the pump runs dry", Severity: alarms.Critical})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "raised:", raised.Severity, raised.Source, raised.Message)

	acknowledged, err := service.Acknowledge(ctx, alarms.ByID(raised.ID), "anna", "opening the valve")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "acknowledged by:", acknowledged.AcknowledgedBy)

	cleared, err := service.Clear(ctx, alarms.ByKey(key), "anna", "")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "still active:", cleared.Active)
	return nil
}

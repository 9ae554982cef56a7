package alarms_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/alarms"
)

func Example() {
	ctx := context.Background()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close(ctx)

	raised, err := service.Raise(ctx, alarms.Alarm{
		Key: "app:pump-101", Source: "P-101", Message: "the pump does not start", Severity: alarms.Critical,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(raised.Code, raised.Severity, raised.Message)

	acknowledged, err := service.Acknowledge(ctx, alarms.ByID(raised.ID), "anna", "on my way")
	fmt.Println(acknowledged.AcknowledgedBy, err)
	_, err = service.Acknowledge(ctx, alarms.ByID(raised.ID), "ben", "")
	fmt.Println(errors.Is(err, alarms.ErrAlreadyAcknowledged))

	cleared, err := service.Clear(ctx, alarms.ByKey("app:pump-101"), "", "")
	fmt.Println(cleared.Active, err)
	// Output:
	// 1 Critical the pump does not start
	// anna <nil>
	// true
	// false <nil>
}

package alarms_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/tags"
)

func Example() {
	ctx := context.Background()
	service, err := alarms.New(ctx, alarms.NewMemory(), alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close()

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

// In an application the changes come from a tag engine: engine.Observe(rules.Observe).
func ExampleRules() {
	ctx := context.Background()
	store := alarms.NewMemory()
	service, err := alarms.New(ctx, store, alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close()
	rules, err := alarms.NewRules(ctx, store, service, alarms.RulesOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = rules.Add(ctx, alarms.Rule{
		ID: "too-hot", Name: "Press too hot", Tag: "press.temperature", Kind: alarms.High, Limit: 80, Deadband: 2, Severity: alarms.Warning, Enabled: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hot := tags.Change{Tag: &tags.Tag{Name: "press.temperature", Unit: "°C"}, Sample: tags.Sample{Value: tags.FloatValue(81.5), Quality: tags.Good}}
	rules.Observe([]tags.Change{hot})
	if err := rules.Close(ctx); err != nil { // stores what waits
		fmt.Println(err)
	}
	active, err := service.Active(ctx)
	for _, o := range active {
		fmt.Println(o.Severity, o.Message, err)
	}
	// Output: Warning Press too hot: press.temperature is 81.5 °C, above 80 <nil>
}

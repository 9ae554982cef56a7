package rules_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// In an application the changes come from a tag engine: engine.Observe(evaluator.Observe).
func Example() {
	ctx := context.Background()
	store := alarms.NewMemory()
	service, err := alarms.New(ctx, store, alarms.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer service.Close(ctx)
	evaluator, err := rules.New(ctx, rules.NewMemory(store), service, rules.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = evaluator.Add(ctx, rules.Rule{
		ID: "too-hot", Name: "Press too hot", Tag: "press.temperature", Kind: rules.High, Limit: 80, Deadband: 2, Severity: alarms.Warning, Enabled: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hot := tags.Change{Tag: &tags.Tag{Name: "press.temperature", Unit: "°C"}, Sample: tags.Sample{Value: tags.FloatValue(81.5), Quality: tags.Good}}
	evaluator.Observe([]tags.Change{hot})
	if err := evaluator.Close(ctx); err != nil { // stores what waits
		fmt.Println(err)
	}
	active, err := service.Active(ctx)
	for _, o := range active {
		fmt.Println(o.Severity, o.Message, err)
	}
	// Output: Warning Press too hot: press.temperature is 81.5 °C, above 80 <nil>
}

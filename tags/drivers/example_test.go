package drivers_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/simdriver"
)

// A program with a tag engine of its own gives the service a Host over it; a server has one already.
func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	service, err := drivers.New(ctx, drivers.Deps{Types: driverconfig.Types{simdriver.Type()}, Host: host{engine}}, drivers.Options{})
	if err != nil {
		panic(err)
	}
	made, err := service.Create(ctx, drivers.Definition{ID: "line1", Type: "Simulation", Enabled: true, Settings: json.RawMessage(`{"TagsPerDevice": 2}`)})
	fmt.Println(made.Origin, engine.HasDriver("line1"), err)

	made.Settings = json.RawMessage(`{"TagsPerDevice": -2}`)
	_, err = service.Update(ctx, made.Definition, nil)
	fmt.Println(err)
	fmt.Println(service.Delete(ctx, "line1", nil), engine.HasDriver("line1"))
	// Output:
	// api true <nil>
	// driver settings are not valid: settings.TagsPerDevice must be 0 to 1000000
	// <nil> false
}

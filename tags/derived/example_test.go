package derived_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
)

func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	if err := engine.DefineTags(tags.Tag{Name: "line1.flow", Driver: "line1", DataType: tags.Float}); err != nil {
		panic(err)
	}
	service, err := derived.New(ctx, engine, derived.Options{Define: func(list []tags.Tag) error { return engine.DefineTags(list...) }})
	if err != nil {
		panic(err)
	}
	defer service.Close()
	if err := engine.AddDriver(derived.DriverID, service.Driver(), tags.DriverOptions{}); err != nil {
		panic(err)
	}
	d, err := service.Create(ctx, derived.Definition{ID: "line1.hourly", Expression: `tag("line1.flow") * 60`}, false)
	fmt.Println(d.Kind, d.Inputs, err)
	_, err = service.Create(ctx, derived.Definition{ID: "line1.flow2", Expression: `tag("line1.fow") * 2`}, false)
	fmt.Println(err)
	// Output:
	// Float [line1.flow] <nil>
	// derived tag is not valid: line1.flow2: expression tag "line1.fow" does not exist
}

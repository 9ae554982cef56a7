package passive_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/passive"
)

func Example() {
	ctx := context.Background()
	driver, err := passive.New(passive.Options{Tags: []passive.Tag{{Name: "level", Type: "Float"}}})
	if err != nil {
		panic(err)
	}
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	level := tags.Tag{Name: "tank.level", Address: "level", DataType: tags.Float, Unit: "mm"}
	if err := engine.AddDriver("tank", driver, tags.DriverOptions{Type: passive.TypeName, Tags: []tags.Tag{level}}); err != nil {
		panic(err)
	}
	if err := driver.Push(ctx, []passive.Item{{Name: "level", Value: 412.5}}); err != nil {
		panic(err)
	}
	s, err := engine.Read("tank.level")
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Sample.Value, s.Tag.Unit, s.Sample.Quality)
	err = driver.Push(ctx, []passive.Item{{Name: "level", Value: "full"}})
	fmt.Println(err)
	// Output:
	// 412.5 mm Good
	// items are not valid: [0].value must be a number, not a string
}

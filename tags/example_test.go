package tags_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/tags"
)

// tank is a driver for a tank whose valve fills it. A real one would open a connection in Connect,
// close it in Close, and return tags.ErrNotConnected from Read and Write when it is gone.
type tank struct{ level, valve int64 }

func (t *tank) Connect(context.Context) error { return nil }
func (t *tank) Close() error                  { return nil }

func (t *tank) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	for i, p := range points {
		switch p.Address {
		case "level":
			out[i] = tags.Reading{Value: tags.IntValue(t.level), Quality: tags.Good}
		case "valve":
			out[i] = tags.Reading{Value: tags.IntValue(t.valve), Quality: tags.Good}
		default:
			out[i].Err = tags.ErrNoSuchAddress
		}
	}
	return nil
}

func (t *tank) Write(_ context.Context, items []tags.WriteItem, errs []error) error {
	for i, item := range items {
		if item.Point.Address != "valve" {
			errs[i] = tags.ErrNoSuchAddress
			continue
		}
		t.valve = item.Value.Int()
		t.level += 10 * t.valve
	}
	return nil
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(ctx) }()
	err = engine.AddDriver("tank", &tank{level: 250}, tags.DriverOptions{
		PollInterval: 10 * time.Millisecond,
		Tags: []tags.Tag{
			{Name: "tank.level", Address: "level", DataType: tags.Float, Scale: 0.1, Unit: "m"},
			{Name: "tank.valve", Address: "valve", DataType: tags.Int, Access: tags.ReadWrite},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	levels, err := engine.Subscribe(tags.SubscribeOptions{Names: []string{"tank.level"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer levels.Close()
	for {
		changes, err := levels.Next(ctx, 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		level := changes[0]
		if level.Quality != tags.Good { // not read yet
			continue
		}
		fmt.Println(level.Tag.Name, level.Value, level.Tag.Unit, level.Quality)
		switch level.Value.String() {
		case "25": // open the valve
			if _, err := engine.Write(ctx, tags.WriteRequest{Tag: "tank.valve", Value: tags.IntValue(1), By: "anna"}); err != nil {
				fmt.Println(err)
				return
			}
		case "26":
			return
		}
	}
	// Output:
	// tank.level 25 m Good
	// tank.level 26 m Good
}

func ExampleCompilePattern() {
	p, err := tags.CompilePattern(`line_.%\_temp`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Match("Line1.oven_temp"), p.Match("line1.oven-temp"))
	// Output: true false
}

package mirror_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/mirror"
	"github.com/otkit/otkit/tags/simdriver"
)

// Two engines of a process have the same driver. One runs it, and the other shows its values.
func Example() {
	ctx := context.Background()
	net := bus.NewMemory()
	var engines []*tags.Engine
	var mirrors []*mirror.Mirror
	for _, name := range []string{"one", "two"} {
		var m *mirror.Mirror
		e, err := tags.New(tags.Options{Shared: &tags.Shared{Write: func(ctx context.Context, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
			return m.Write(ctx, driver, requests)
		}}})
		if err != nil {
			panic(err)
		}
		driver, err := simdriver.New(simdriver.Options{})
		if err != nil {
			panic(err)
		}
		flow := tags.Tag{Name: "pump.flow", Address: "device1.tag1", DataType: tags.Float}
		if err := e.AddDriver("pump", driver, tags.DriverOptions{Tags: []tags.Tag{flow}}); err != nil {
			panic(err)
		}
		b := net.Join()
		defer func() { _ = b.Close(ctx) }()
		m, err = mirror.New(e, b, mirror.Options{Engine: name, Owner: func(string) (string, bool) { return "one", true }})
		if err != nil {
			panic(err)
		}
		defer m.Close()
		engines, mirrors = append(engines, e), append(mirrors, m)
		defer func() { _ = e.Close(ctx) }()
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error)
	end := mirrors[0].Begin("pump", 1)
	go func() { ended <- engines[0].RunDriver(running, "pump", func() bool { return true }) }()
	for {
		s, err := engines[1].Read("pump.flow")
		if err != nil {
			panic(err)
		}
		if s.Sample.Quality == tags.Good {
			fmt.Println(s.Tag.Name, s.Sample.Quality)
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	fmt.Println(<-ended)
	end()
	// Output:
	// pump.flow Good
	// <nil>
}

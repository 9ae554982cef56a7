package bus_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/cluster/bus"
)

func Example() {
	ctx := context.Background()
	plant := bus.NewMemory() // or package natsbus, for engines on several machines
	one, two := plant.Join(), plant.Join()
	defer func() { _ = one.Close(ctx) }()
	defer func() { _ = two.Close(ctx) }()

	changes := make(chan string)
	cancel, err := two.Subscribe("values.press-1", func(data []byte) { changes <- string(data) })
	if err != nil {
		panic(err)
	}
	defer cancel()
	if err := one.Publish("values.press-1", []byte("71.5")); err != nil {
		panic(err)
	}
	fmt.Println(<-changes)

	stop, err := two.Serve("write.press-1", func(_ context.Context, data []byte) []byte { return []byte("written: " + string(data)) })
	if err != nil {
		panic(err)
	}
	defer stop()
	answer, err := one.Request(ctx, "write.press-1", []byte("70"))
	fmt.Println(string(answer), err)
	// Output:
	// 71.5
	// written: 70 <nil>
}

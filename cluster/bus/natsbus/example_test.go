package natsbus_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/cluster/bus/natsbus"
)

func Example() {
	ctx := context.Background()
	b, err := natsbus.Connect(ctx, natsbus.Options{URLs: []string{"nats://127.0.0.1:1"}, Prefix: "plant-north"})
	if err != nil {
		panic(err)
	}
	defer func() { _ = b.Close(ctx) }()
	// The server may be started later.
	fmt.Println(b.Status().Kind, b.Status().Up)
	fmt.Println(b.Publish("values.press-1", []byte("71.5")) != nil)
	// Output:
	// NATS false
	// true
}

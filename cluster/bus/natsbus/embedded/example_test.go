package embedded_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
)

func Example() {
	ctx := context.Background()
	one, err := embedded.Start(ctx, embedded.Options{Listen: "127.0.0.1:0", Password: "of the plant"})
	if err != nil {
		panic(err)
	}
	defer func() { _ = one.Close(ctx) }()
	// Usually on another machine, with a Listen such as :6222 and Routes such as engine-1:6222.
	two, err := embedded.Start(ctx, embedded.Options{Listen: "127.0.0.1:0", Password: "of the plant", Routes: []string{one.Addr().String()}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = two.Close(ctx) }()

	if _, err := two.Serve("write.press-1", func(_ context.Context, data []byte) []byte { return []byte("written: " + string(data)) }); err != nil {
		panic(err)
	}
	for {
		answer, err := one.Request(ctx, "write.press-1", []byte("70"))
		if err == nil { // the engines have joined
			fmt.Println(string(answer))
			return
		}
	}
	// Output: written: 70
}

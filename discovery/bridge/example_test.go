package bridge_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
)

func ExampleNewMemoryBuffer() {
	ctx := context.Background()
	buffer := bridge.NewMemoryBuffer(0)
	if err := buffer.Append(ctx, buffer.Epoch(), []link.Block{{First: 1, Count: 3, Data: []byte("abc")}, {First: 4, Count: 1, Data: []byte("d")}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(buffer.Ack(ctx, buffer.Epoch(), 3))
	blocks, err := buffer.Peek(ctx, buffer.Epoch(), 0, 1000)
	fmt.Println(len(blocks), blocks[0].First, err)
	// Output:
	// <nil>
	// 1 4 <nil>
}

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
	if err := buffer.Append(ctx, []link.Block{{First: 1, Count: 3, Data: []byte("abc")}, {First: 4, Count: 1, Data: []byte("d")}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(buffer.Ack(ctx, 3))
	blocks, err := buffer.Peek(ctx, 0, 1000)
	fmt.Println(len(blocks), blocks[0].First, err)
	// Output:
	// <nil>
	// 1 4 <nil>
}

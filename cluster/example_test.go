package cluster_test

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/cluster"
)

func Example() {
	ctx := context.Background()
	began := make(chan string)
	m, err := cluster.Join(ctx, cluster.Options{
		Store:  cluster.NewMemory(), // the engines of a plant share one in their database
		Engine: "engine-1",
		Do: func(ctx context.Context, lease *cluster.Held) error {
			began <- fmt.Sprintf("%s, epoch %d", lease.Work, lease.Epoch)
			<-ctx.Done() // here the driver would be polled while lease.Valid()
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	m.SetWork([]cluster.Work{{Name: "driver/press-1"}})
	fmt.Println(<-began)
	fmt.Println(m.Close(ctx))
	// Output:
	// driver/press-1, epoch 1
	// <nil>
}

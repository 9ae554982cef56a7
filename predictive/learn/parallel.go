package learn

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallel calls task for 0 to n-1 on up to the given number of workers and waits for them. Each task must write only what is its
// own, so that the order does not matter. It stops early when ctx is done and returns its error.
func parallel(ctx context.Context, n, workers int, task func(worker, i int)) error {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			task(0, i)
		}
		return ctx.Err()
	}
	var next atomic.Int64
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				task(worker, i)
			}
		})
	}
	running.Wait()
	return ctx.Err()
}

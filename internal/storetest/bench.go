package storetest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Callers runs work b.N times in all from so many goroutines and reports the rate and the 99th
// percentile of what one caller waits.
func Callers(b *testing.B, count int, work func(i int) error) {
	b.Helper()
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		waits []time.Duration
	)
	b.ResetTimer()
	for range count {
		wg.Go(func() {
			var mine []time.Duration
			for {
				i := int(next.Add(1))
				if i > b.N {
					break
				}
				start := time.Now()
				if err := work(i); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			waits = append(waits, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(waits)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
}

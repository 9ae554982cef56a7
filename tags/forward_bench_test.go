//go:build unix

package tags_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// BenchmarkForward measures what the engine costs between a Forwarder and its store, in batches of 1,000
// readings of 100,000 tags. bare is the least that could be done: a lock and a place for each tag.
func BenchmarkForward(b *testing.B) {
	const size = 1000
	batch := make([]tags.Forwarded, size)
	fill := func(n int) {
		now := time.Now()
		for i := range batch {
			batch[i] = tags.Forwarded{Point: (n + i) % plant, Reading: tags.Reading{Value: tags.FloatValue(float64(n)), Quality: tags.Good, Time: now}}
		}
	}
	report := func(b *testing.B, run func(batches int)) {
		b.ReportAllocs()
		batches := b.N/size + 1
		start := processorTime(b)
		b.ResetTimer()
		run(batches)
		b.StopTimer()
		perReading := float64((processorTime(b) - start).Nanoseconds()) / float64(batches*size)
		b.ReportMetric(perReading, "cpu-ns/reading")
		b.ReportMetric(perReading*100_000/1e9*100, "%core@100k/s")
	}
	b.Run("bare", func(b *testing.B) {
		type place struct {
			mu sync.Mutex
			r  tags.Reading
		}
		places := make([]*place, plant)
		for i := range places {
			places[i] = new(place)
		}
		report(b, func(batches int) {
			for n := range batches {
				fill(n * size)
				for i := range batch {
					p := places[batch[i].Point]
					p.mu.Lock()
					p.r = batch[i].Reading
					p.mu.Unlock()
				}
			}
		})
	})
	for name, subscribed := range map[string]bool{"engine": false, "subscriptions=100": true} {
		b.Run(name, func(b *testing.B) {
			stored, told := 0, 0
			e, err := tags.New(tags.Options{Store: func(_ context.Context, changes []tags.Change) error {
				stored += len(changes)
				return nil
			}})
			require.NoError(b, err)
			defer closeEngine(b, e)
			e.Observe(func(changes []tags.Change) {
				if changes[0].Quality == tags.Good {
					told += len(changes)
				}
			})
			d := newForwardDevice()
			list := plantTags(plant, 1, 0)
			require.NoError(b, e.AddDriver("plc0", d, tags.DriverOptions{Tags: list}))
			require.Eventually(b, func() bool { return d.running() == 2 }, 10*time.Second, time.Millisecond)
			stop := func() {}
			if subscribed {
				stop = subscribeAll(b, e, list, true, 100*time.Millisecond, func(int, []tags.Change) {})
			}
			store, ctx := d.now()
			report(b, func(batches int) {
				for n := range batches {
					fill(n * size)
					if err := store(ctx, batch); err != nil {
						b.Fatal(err)
					}
				}
				if stored != batches*size || told != stored {
					b.Fatal(stored, told, batches*size)
				}
			})
			stop()
		})
	}
}

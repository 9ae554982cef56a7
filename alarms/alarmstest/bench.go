package alarmstest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// BenchmarkStore measures a store behind an alarms.Service: raising in batches, with a subscriber, and
// one by one from many goroutines; a page of 20,000 active alarms; the trend of a month. open returns an
// empty store and closes it with b.Cleanup.
func BenchmarkStore(b *testing.B, open func(testing.TB) alarms.Store) {
	b.Helper()
	for _, size := range []int{100, 1000} {
		b.Run(fmt.Sprintf("Raise/batch=%d", size), func(b *testing.B) { benchmarkRaise(b, open(b), size) })
	}
	b.Run("Raise/single/parallel=64", func(b *testing.B) { benchmarkSingle(b, open(b)) })
	b.Run("List/active=20000", func(b *testing.B) { benchmarkList(b, open(b)) })
	b.Run("Trend/month", func(b *testing.B) { benchmarkTrend(b, open(b)) })
}

func serve(b *testing.B, s alarms.Store) *alarms.Service {
	b.Helper()
	service, err := alarms.New(b.Context(), s, alarms.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, service.Close(context.Background())) })
	return service
}

func batchOf(size, from int) []alarms.Alarm {
	list := make([]alarms.Alarm, size)
	for i := range list {
		list[i] = alarms.Alarm{
			Key: fmt.Sprintf("app:%d", from+i), Source: fmt.Sprintf("plc%d.tag%d", i%7, i), SourceType: "Sensor",
			Message: "the temperature is 91.5 °C, above 80", Severity: alarms.Severity(i % 4), Labels: map[string]string{"line": "3"},
		}
	}
	return list
}

// benchmarkRaise raises an occurrence with each operation, which a subscriber reads.
func benchmarkRaise(b *testing.B, s alarms.Store, size int) {
	service := serve(b, s)
	sub, err := service.Subscribe(alarms.SubscribeOptions{Buffer: 100_000})
	require.NoError(b, err)
	defer sub.Close()
	got := make(chan error, 1)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		for n := 0; n < b.N; {
			events, err := sub.Next(b.Context(), 0)
			if err != nil {
				got <- err
				return
			}
			n += len(events)
		}
		got <- nil
	}()
	for n := 0; n < b.N; n += size {
		_, err := service.RaiseMany(b.Context(), batchOf(min(size, b.N-n), n))
		require.NoError(b, err)
	}
	require.NoError(b, <-got)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "alarms/s")
}

func benchmarkSingle(b *testing.B, s alarms.Store) {
	service := serve(b, s)
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 64 {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if _, err := service.Raise(b.Context(), batchOf(1, int(n))[0]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "alarms/s")
}

func benchmarkList(b *testing.B, s alarms.Store) {
	service := serve(b, s)
	for n := 0; n < 20_000; n += 5000 {
		_, err := service.RaiseMany(b.Context(), batchOf(5000, n))
		require.NoError(b, err)
	}
	b.ResetTimer()
	for n := range b.N {
		p, err := service.List(b.Context(), alarms.ListQuery{Page: n%400 + 1, PageSize: 50})
		require.NoError(b, err)
		require.Equal(b, 20_000, p.Total)
	}
}

func benchmarkTrend(b *testing.B, s alarms.Store) {
	service := serve(b, s)
	end := time.Now()
	for n := range 20 {
		list := batchOf(5000, n*5000)
		for i := range list {
			list[i].At = end.Add(-time.Duration(n*5000+i) * 25 * time.Second)
		}
		_, err := service.RaiseMany(b.Context(), list)
		require.NoError(b, err)
	}
	b.ResetTimer()
	for range b.N {
		points, err := service.Trend(b.Context(), end.Add(-30*24*time.Hour), end.Add(time.Second))
		require.NoError(b, err)
		require.NotEmpty(b, points)
	}
}

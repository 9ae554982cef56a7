//go:build unix

package devices_test

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func manyDevices(b *testing.B, count int) (s *devices.Service, ids []string) {
	b.Helper()
	s, err := devices.New(b.Context(), devices.NewMemory(), devices.Options{Safety: testSafety{}})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close(context.Background())) })
	for i := range count {
		ids = append(ids, fmt.Sprintf("agv-%05d", i))
		_, err := s.Create(b.Context(), ids[i], "AGV", "")
		require.NoError(b, err)
	}
	return s, ids
}

// BenchmarkChanges is the report of one device until a reader of changes has it.
func BenchmarkChanges(b *testing.B) {
	for _, count := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("devices=%d", count), func(b *testing.B) {
			s, ids := manyDevices(b, count)
			_, position, err := s.Changes(b.Context(), 0)
			require.NoError(b, err)
			for b.Loop() {
				if err := s.Report(ids[count/2], devices.Telemetry{State: devices.Working}); err != nil {
					b.Fatal(err)
				}
				found, next, err := s.Changes(b.Context(), position)
				if err != nil || len(found) != 1 {
					b.Fatal(len(found), err)
				}
				position = next
			}
		})
	}
}

// BenchmarkWatchers is what a second of 1,000 devices that report at 10 Hz costs, with 50 readers that want changes every 100 ms.
func BenchmarkWatchers(b *testing.B) {
	const count, readers, rate = 1000, 50, 10
	s, ids := manyDevices(b, count)
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			var position uint64
			for ctx.Err() == nil {
				_, position, _ = s.Changes(ctx, position)
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	before := cpu(b)
	for b.Loop() {
		for i := range rate {
			round := time.Now()
			for k, id := range ids {
				if err := s.Report(id, devices.Telemetry{State: devices.Working, Pose: &devices.Pose{X: float64(i)}}); err != nil {
					b.Fatal(err)
				}
				if k%100 == 99 { // spread over the time
					time.Sleep(time.Until(round.Add(time.Duration(k+1) * time.Second / (rate * count))))
				}
			}
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
	cancel()
	wg.Wait()
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

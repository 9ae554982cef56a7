//go:build unix

package tags_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

const plant = 100_000 // tags of the benchmarks

// machine is a driver that gives every point another value on each Read and costs next to nothing.
type machine struct {
	device
	turn int64
}

func (m *machine) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	m.turn++
	for i := range points {
		out[i] = tags.Reading{Value: tags.FloatValue(float64(m.turn)), Quality: tags.Good}
	}
	return nil
}

func (m *machine) Connect(context.Context) error { return nil }

// plantTags defines n Floats with a deadband, in equal parts of the drivers plc0, plc1, ...; every one
// is polled at the interval.
func plantTags(n, drivers int, interval time.Duration) []tags.Tag {
	list := make([]tags.Tag, n)
	for i := range list {
		driver := fmt.Sprintf("plc%d", i*drivers/n)
		list[i] = tags.Tag{
			Name: fmt.Sprintf("%s.Area%02d.Tag%05d", driver, i%50, i), Driver: driver, Address: fmt.Sprintf("HR:%d", i),
			DataType: tags.Float, Min: tags.Ptr(-1e9), Max: tags.Ptr(1e9), PollInterval: interval,
			Deadband: tags.Deadband{Absolute: 0.5},
		}
	}
	return list
}

func closeEngine(b *testing.B, e *tags.Engine) {
	b.Helper()
	require.NoError(b, e.Close(context.Background()))
}

// subscribeAll starts 100 subscriptions to 1,000 tags each, a reader for each of them, and gives the
// function that ends them. apart spreads them over all tags; else all watch the same 1,000.
func subscribeAll(b *testing.B, e *tags.Engine, list []tags.Tag, apart bool, throttle time.Duration, got func(reader int, changes []tags.Change)) (stop func()) {
	b.Helper()
	var wg sync.WaitGroup
	var subs []*tags.Subscription
	for n := range 100 {
		names := make([]string, 1000)
		for i := range names {
			if apart {
				names[i] = list[i*100+n].Name
			} else {
				names[i] = list[i].Name
			}
		}
		s, err := e.Subscribe(tags.SubscribeOptions{Names: names, Throttle: throttle})
		require.NoError(b, err)
		subs = append(subs, s)
		wg.Go(func() {
			for {
				changes, err := s.Next(context.Background(), 0)
				if err != nil {
					return
				}
				got(n, changes)
			}
		})
	}
	return func() {
		for _, s := range subs {
			s.Close()
		}
		wg.Wait()
	}
}

// BenchmarkChanges measures the whole path of a change: driver, cache, deadband, 100 subscriptions of
// 1,000 tags with a throttle of 100 ms. An operation is one change; the time is that of the machine's
// processors, readers included, as the path is driven as fast as it goes.
func BenchmarkChanges(b *testing.B) {
	for _, c := range []struct {
		name  string
		tags  int
		apart bool
	}{
		{"subscriptions=0", plant, false},
		{"subscriptions=100/apart", plant, true},
		{"subscriptions=100/same1000", plant, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := tags.New(tags.Options{})
			require.NoError(b, err)
			defer closeEngine(b, e)
			list := plantTags(c.tags, 1, time.Nanosecond) // as often as it can be read
			gate := &gated{proceed: make(chan int), finished: make(chan struct{})}
			require.NoError(b, e.AddDriver("plc0", gate, tags.DriverOptions{Tags: list}))
			stop := func() {}
			if c.name != "subscriptions=0" {
				stop = subscribeAll(b, e, list, c.apart, 100*time.Millisecond, func(int, []tags.Change) {})
			}
			gate.run(c.tags) // the first values
			start := processorTime(b)
			b.ResetTimer()
			gate.run(b.N)
			b.StopTimer()
			used := processorTime(b) - start
			perChange := float64(used.Nanoseconds()) / float64(b.N)
			b.ReportMetric(perChange, "cpu-ns/change")
			b.ReportMetric(perChange*100_000/1e9*100, "%core@100k/s")
			close(gate.proceed)
			stop()
		})
	}
}

// gated is a machine that reads as many points as it is told to.
type gated struct {
	machine
	left     int
	proceed  chan int
	finished chan struct{}
}

func (g *gated) run(points int) {
	g.proceed <- points
	<-g.finished
}

func (g *gated) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if g.left == 0 {
		more, ok := <-g.proceed
		if !ok {
			return tags.ErrNotConnected
		}
		g.left = more
	}
	err := g.machine.Read(ctx, points, out)
	if g.left = max(0, g.left-len(points)); g.left == 0 {
		g.finished <- struct{}{}
	}
	return err
}

// Latency of a change from the device to the caller of Next, in real time: 100,000 changes a second,
// 100 subscriptions of 1,000 tags each, a throttle of 100 ms.
func BenchmarkLatency(b *testing.B) {
	const seconds = 5
	for b.Loop() {
		e, err := tags.New(tags.Options{})
		require.NoError(b, err)
		list := plantTags(plant, 10, time.Second)
		require.NoError(b, e.DefineTags(list...))
		latencies := make([][]time.Duration, 100)
		stop := subscribeAll(b, e, list, true, 100*time.Millisecond, func(reader int, changes []tags.Change) {
			now := time.Now()
			for _, c := range changes {
				if c.Quality == tags.Good {
					latencies[reader] = append(latencies[reader], now.Sub(c.ServerTime))
				}
			}
		})
		start, began := processorTime(b), time.Now()
		for i := range 10 { // so that the changes come spread over the second
			require.NoError(b, e.AddDriver(fmt.Sprintf("plc%d", i), &machine{}, tags.DriverOptions{}))
		}
		time.Sleep(seconds * time.Second)
		used, wall := processorTime(b)-start, time.Since(began)
		changes := uint64(0)
		for _, d := range e.Drivers() {
			changes += d.Changes
		}
		stop()
		closeEngine(b, e)
		all := slices.Concat(latencies...)
		slices.Sort(all)
		require.NotEmpty(b, all)
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(changes)/wall.Seconds(), "changes/s")
		b.ReportMetric(100*used.Seconds()/wall.Seconds(), "%core")
	}
}

// Memory of 100,000 tags that were read and are at rest.
func BenchmarkIdleTags(b *testing.B) {
	for b.Loop() {
		before := heap()
		e, err := tags.New(tags.Options{})
		require.NoError(b, err)
		require.NoError(b, e.AddDriver("plc0", &machine{}, tags.DriverOptions{Tags: plantTags(plant, 1, time.Hour)}))
		require.Eventually(b, func() bool { return e.Drivers()[0].Samples == plant }, 10*time.Second, 10*time.Millisecond)
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		start := processorTime(b)
		time.Sleep(2 * time.Second)
		b.ReportMetric(100*(processorTime(b)-start).Seconds()/2, "%core-idle")
		closeEngine(b, e)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

func BenchmarkList(b *testing.B) {
	e, err := tags.New(tags.Options{})
	require.NoError(b, err)
	defer closeEngine(b, e)
	require.NoError(b, e.DefineTags(plantTags(plant, 1, 0)...))
	for _, page := range []int{1, 1000} {
		b.Run(fmt.Sprintf("page=%d", page), func(b *testing.B) {
			for b.Loop() {
				list, total, err := e.List(tags.ListQuery{Pattern: "plc%.tag%", Page: page, PageSize: 50})
				if err != nil || len(list) != 50 || total != plant {
					b.Fatal(len(list), total, err)
				}
			}
		})
	}
}

// BenchmarkListSorted asks for a page of 50 as a table of all tags does.
func BenchmarkListSorted(b *testing.B) {
	e, err := tags.New(tags.Options{})
	require.NoError(b, err)
	defer closeEngine(b, e)
	require.NoError(b, e.DefineTags(plantTags(plant, 1, 0)...))
	for name, q := range map[string]tags.ListQuery{
		"plain": {}, "name": {Sort: tags.SortNatural}, "timestamp": {Sort: tags.SortSourceTime, Descending: true}, "quality": {Sort: tags.SortQuality},
		"driver": {Sort: tags.SortDriver}, "bad": {Qualities: tags.Qualities(tags.Bad)}, "text": {Text: "tag9999"},
		"timestamp-deep": {Sort: tags.SortSourceTime, Page: 1000},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if list, _, err := e.List(q); err != nil || len(list) == 0 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	e, err := tags.New(tags.Options{})
	require.NoError(b, err)
	defer closeEngine(b, e)
	list := plantTags(plant, 1, 0)
	require.NoError(b, e.DefineTags(list...))
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := e.Read(list[i%len(list)].Name); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("500", func(b *testing.B) {
		names := make([]string, 500)
		for i := range names {
			names[i] = list[i*7].Name
		}
		for b.Loop() {
			if found, _, err := e.ReadMany(names); err != nil || len(found) != 500 {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkReadersWait measures for how long a reader waits at most while 300,000 tags are defined, a
// subscription of all of them is made, and a driver with 100,000 more is added.
func BenchmarkReadersWait(b *testing.B) {
	for b.Loop() {
		e, err := tags.New(tags.Options{})
		require.NoError(b, err)
		require.NoError(b, e.DefineTags(tags.Tag{Name: "one", Driver: "none", DataType: tags.Float, Address: "1"}))
		longest := func(work func()) time.Duration {
			done := make(chan struct{})
			go func() { defer close(done); work() }()
			var most time.Duration
			for {
				select {
				case <-done:
					return most
				default:
				}
				start := time.Now()
				_, _ = e.Read("one")
				most = max(most, time.Since(start))
				runtime.Gosched()
			}
		}
		list := plantTags(300_000, 3, time.Hour)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		b.ReportMetric(ms(longest(func() { require.NoError(b, e.DefineTags(list...)) })), "define-ms")
		b.ReportMetric(ms(longest(func() {
			s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"%"}})
			require.NoError(b, err)
			s.Close()
		})), "subscribe-ms")
		b.ReportMetric(ms(longest(func() {
			require.NoError(b, e.AddDriver("plc0", &machine{}, tags.DriverOptions{Tags: plantTags(100_000, 1, time.Hour)}))
		})), "driver-ms")
		closeEngine(b, e)
	}
}

// BenchmarkIdleMillion measures watching over the staleness of 1,000,000 tags at rest.
func BenchmarkIdleMillion(b *testing.B) {
	for b.Loop() {
		e, err := tags.New(tags.Options{})
		require.NoError(b, err)
		require.NoError(b, e.AddDriver("plc0", &machine{}, tags.DriverOptions{Tags: plantTags(1_000_000, 1, time.Hour)}))
		require.Eventually(b, func() bool { return e.Drivers()[0].Samples == 1_000_000 }, time.Minute, 10*time.Millisecond)
		runtime.GC()
		start := processorTime(b)
		time.Sleep(5 * time.Second)
		b.ReportMetric(100*(processorTime(b)-start).Seconds()/5, "%core-idle")
		closeEngine(b, e)
	}
}

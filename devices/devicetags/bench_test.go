package devicetags_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/tags"
)

// bare emits what it is told to, at no cost of its own: what the engine alone needs for a change.
type bare struct{ next, done chan int }

func (*bare) Connect(context.Context) error                            { return nil }
func (*bare) Close() error                                             { return nil }
func (*bare) Write(context.Context, []tags.WriteItem, []error) error   { return nil }
func (*bare) Read(context.Context, []tags.Point, []tags.Reading) error { return nil }
func (b *bare) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	for {
		select {
		case round := <-b.next:
			for i := range points {
				emit(i, tags.Reading{Value: tags.FloatValue(float64(round)), Quality: tags.Good, Time: time.Now()})
			}
			b.done <- len(points)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// What a change costs: 1,000 devices report, with 4 of 11 tags that change. "bare" is the engine alone.
func BenchmarkChanges(b *testing.B) {
	const count = 1000
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprintf("agv-%d", i)
	}
	b.Run("devices", func(b *testing.B) {
		s := newService(b, ids...)
		var list []tags.Tag
		report := func(round int) {
			charge := 50.0
			for _, id := range ids {
				v := float64(round % 10_000)
				require.NoError(b, s.Report(id, devices.Telemetry{State: devices.Working, Pose: &devices.Pose{Map: "hall", X: v, Y: v, Theta: float64(round % 6)},
					Velocity: &devices.Velocity{X: float64(round % 7)}, Battery: &charge}))
			}
		}
		report(0)
		for _, d := range s.List() {
			list = append(list, devicetags.Tags(d)...)
		}
		d, err := devicetags.New(s, devicetags.Options{Interval: time.Nanosecond})
		require.NoError(b, err)
		e := newEngine(b, d, list)
		changes := e.Drivers()[0].Changes
		round := 0
		for b.Loop() {
			round++
			b.StopTimer()
			report(round)
			b.StartTimer()
			for last := e.Drivers()[0].Changes; last < changes+uint64(round)*4*count; last = e.Drivers()[0].Changes {
				runtime.Gosched()
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*count*b.N), "ns/change")
	})
	b.Run("bare", func(b *testing.B) {
		var list []tags.Tag
		for i := range 4 * count {
			list = append(list, tags.Tag{Name: fmt.Sprintf("devices.t%d", i), Address: fmt.Sprint(i), DataType: tags.Float})
		}
		d := &bare{make(chan int), make(chan int)}
		newEngine(b, d, list)
		round := 0
		for b.Loop() {
			round++
			d.next <- round
			<-d.done
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*count*b.N), "ns/change")
	})
}

func newEngine(b *testing.B, d tags.Driver, list []tags.Tag) *tags.Engine {
	b.Helper()
	e, err := tags.New(tags.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, e.Close(context.Background())) })
	require.NoError(b, e.AddDriver(devicetags.DriverID, d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: list}))
	time.Sleep(3 * time.Second) // the first poll
	return e
}

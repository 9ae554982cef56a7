package simdriver_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/tags/tagstest"
)

var start = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ since atomic.Int64 }

func (c *clock) now() time.Time          { return start.Add(time.Duration(c.since.Load())) }
func (c *clock) set(since time.Duration) { c.since.Store(int64(since)) }
func (c *clock) add(d time.Duration)     { c.since.Add(int64(d)) }

func plant() []simdriver.Signal {
	return []simdriver.Signal{
		{Name: "setpoint", Type: tags.Float, Access: tags.ReadWrite, Unit: "°C", Min: 0, Max: 200, Shape: simdriver.Hold, Initial: tags.FloatValue(80)},
		{Name: "running", Type: tags.Bool, Access: tags.ReadWrite, Shape: simdriver.Hold, Initial: tags.BoolValue(true)},
		{Name: "recipe", Type: tags.String, Access: tags.ReadWrite, Shape: simdriver.Hold, Initial: tags.StringValue("standard")},
		{Name: "temperature", Type: tags.Float, Unit: "°C", Min: 0, Max: 200, Shape: simdriver.Follow, Follows: "setpoint", Lag: time.Minute, Noise: 0.001},
		{Name: "flow", Type: tags.Float, Min: -5, Max: 5, Shape: simdriver.Sine, Period: 10 * time.Minute},
		{Name: "mixed", Type: tags.Float, Min: -5, Max: 5, Shape: simdriver.Follow, Follows: "flow", Lag: 30 * time.Second},
		{Name: "counter", Type: tags.Int, Shape: simdriver.Counter},
		{Name: "shift", Type: tags.Int, Min: 1, Max: 3, Shape: simdriver.Counter, Period: 8 * time.Hour},
		{Name: "snapshot", Type: tags.Bytes, Shape: simdriver.RandomWalk},
	}
}

func newDriver(t testing.TB, opts simdriver.Options) *simdriver.Driver {
	t.Helper()
	opts.Start = start
	d, err := simdriver.New(opts)
	require.NoError(t, err)
	return d
}

func harness(faults simdriver.Faults) (tagstest.DriverHarness, *clock) {
	c := new(clock)
	point := func(address string, kind tags.DataType) tags.Point { return tags.Point{Address: address, Type: kind} }
	return tagstest.DriverHarness{
		New: func(t testing.TB) tags.Driver {
			c.set(0)
			return newDriver(t, simdriver.Options{DeviceCount: 2, TagsPerDevice: 20, Signals: plant(), Faults: faults, Now: c.now})
		},
		Readable: []tags.Point{
			point("device1.tag1", tags.Float), point("device2.tag13", tags.Int), point("device1.tag3", tags.Float),
			point("device1.tag5", tags.Bool), point("device1.tag8", tags.String), point("device1.tag20", tags.Bytes),
			point("temperature", tags.Float), point("counter", tags.Int), point("snapshot", tags.Bytes),
		},
		Writable: []tags.WriteItem{
			{Point: point("setpoint", tags.Float), Value: tags.FloatValue(120)},
			{Point: point("running", tags.Bool), Value: tags.BoolValue(false)},
			{Point: point("recipe", tags.String), Value: tags.StringValue("süß")},
			{Point: point("device1.tag9", tags.Float), Value: tags.FloatValue(-1)},
			{Point: point("setpoint", tags.Float), Value: tags.FloatValue(121.5)},
		},
		Refused: []tags.WriteItem{
			{Point: point("temperature", tags.Float), Value: tags.FloatValue(1)},
			{Point: point("device1.tag1", tags.Float), Value: tags.FloatValue(1)},
			{Point: point("running", tags.Bool), Value: tags.StringValue("yes")},
		},
		Missing:   point("device3.tag1", tags.Float),
		Malformed: point("device01.tag1", tags.Float),
		Timeout:   2 * time.Second,
	}, c
}

func TestConformance(t *testing.T) {
	h, c := harness(simdriver.Faults{Disconnect: simdriver.Window{Every: 10 * time.Hour, For: time.Hour}})
	h.Disconnect = func(testing.TB, tags.Driver) { c.add(9*time.Hour + time.Minute) }
	h.Reconnect = func(testing.TB, tags.Driver) { c.add(59 * time.Minute) }
	tagstest.TestDriver(t, h)
}

func TestConformanceWhenFrozen(t *testing.T) {
	h, c := harness(simdriver.Faults{Freeze: simdriver.Window{Every: 10 * time.Hour, For: time.Hour}})
	h.Stall = func(testing.TB, tags.Driver) { c.add(9*time.Hour + time.Minute) }
	h.Resume = func(testing.TB, tags.Driver) { c.add(59 * time.Minute) }
	tagstest.TestDriver(t, h)
}

func BenchmarkConformance(b *testing.B) {
	h, _ := harness(simdriver.Faults{})
	tagstest.BenchmarkDriver(b, h)
}

// The whole of 100,000 points, each with a new value: what an engine under load reads every second.
func BenchmarkRead100000(b *testing.B) {
	for _, scenario := range simdriver.Scenarios() {
		b.Run(string(scenario), func(b *testing.B) {
			c := new(clock)
			d := newDriver(b, simdriver.Options{DeviceCount: 100, TagsPerDevice: 1000, Scenario: scenario, Now: c.now})
			list, err := d.Browse(b.Context())
			require.NoError(b, err)
			points, out := make([]tags.Point, len(list)), make([]tags.Reading, len(list))
			for i, tag := range list {
				points[i] = tags.Point{Address: tag.Address, Type: tag.DataType}
			}
			require.NoError(b, d.Connect(b.Context()))
			b.ReportAllocs()
			for b.Loop() {
				c.add(time.Second)
				if err := d.Read(b.Context(), points, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(points))*float64(b.N)/b.Elapsed().Seconds(), "points/s")
		})
	}
}

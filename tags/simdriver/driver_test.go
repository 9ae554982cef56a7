package simdriver_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
)

// reader reads points of a driver at times that the test sets.
type reader struct {
	*simdriver.Driver
	clock *clock
	t     *testing.T
}

func newReader(t *testing.T, opts simdriver.Options) *reader {
	t.Helper()
	c := new(clock)
	opts.Now = c.now
	r := &reader{Driver: newDriver(t, opts), clock: c, t: t}
	require.NoError(t, r.Connect(t.Context()))
	return r
}

func (r *reader) at(since time.Duration, points ...tags.Point) []tags.Reading {
	r.t.Helper()
	r.clock.set(since)
	out := make([]tags.Reading, len(points))
	require.NoError(r.t, r.Read(r.t.Context(), points, out))
	return out
}

func (r *reader) number(since time.Duration, address string) float64 {
	r.t.Helper()
	got := r.at(since, tags.Point{Address: address, Type: tags.Float})[0]
	require.NoError(r.t, got.Err)
	n, ok := got.Value.Float()
	require.True(r.t, ok)
	return n
}

func (r *reader) put(address string, v tags.Value) {
	r.t.Helper()
	errs := make([]error, 1)
	item := tags.WriteItem{Point: tags.Point{Address: address, Type: v.Type()}, Value: v}
	require.NoError(r.t, r.Write(r.t.Context(), []tags.WriteItem{item}, errs))
	require.NoError(r.t, errs[0])
}

func (r *reader) points() []tags.Point {
	r.t.Helper()
	list, err := r.Browse(r.t.Context())
	require.NoError(r.t, err)
	points := make([]tags.Point, len(list))
	for i, tag := range list {
		points[i] = tags.Point{Address: tag.Address, Type: tag.DataType}
	}
	return points
}

func TestValuesDependOnSeedAndTimeAlone(t *testing.T) {
	for _, scenario := range simdriver.Scenarios() {
		t.Run(string(scenario), func(t *testing.T) {
			opts := simdriver.Options{DeviceCount: 2, TagsPerDevice: 20, Scenario: scenario, Signals: plant(), Seed: 7}
			often, once := newReader(t, opts), newReader(t, opts)
			points := often.points()
			var last []tags.Reading
			for s := range 100 {
				last = often.at(time.Duration(s)*time.Second, points...)
			}
			require.Equal(t, last, once.at(99*time.Second, points...), "how often a signal is read changes nothing")
			require.Equal(t, last, once.at(99*time.Second+999*time.Millisecond, points...), "values change in steps")
			for i, p := range points {
				v, err := once.ValueAt(p.Address, start.Add(99500*time.Millisecond))
				require.NoError(t, err)
				require.Equal(t, last[i].Value, v, "ValueAt of %s", p.Address)
				require.Equal(t, start.Add(99*time.Second), last[i].Time)
			}

			opts.Seed = 8
			differ := 0
			for i, r := range newReader(t, opts).at(99*time.Second, points...) {
				if r.Value != last[i].Value {
					differ++
				}
			}
			require.Greater(t, differ, len(points)/4, "another seed is another plant")
		})
	}
}

func TestGeneratedTags(t *testing.T) {
	r := newReader(t, simdriver.Options{DeviceCount: 3, TagsPerDevice: 10, UpdateInterval: 100 * time.Millisecond})
	list, err := r.Browse(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 30)
	require.Equal(t, "device1.tag1", list[0].Name)
	require.Equal(t, "device3.tag10", list[29].Name)
	seen := map[tags.DataType]int{}
	writable := 0
	for _, tag := range list {
		seen[tag.DataType]++
		if tag.Access == tags.ReadWrite {
			writable++
		}
		require.Equal(t, 100*time.Millisecond, tag.PollInterval)
	}
	require.Equal(t, map[tags.DataType]int{tags.Float: 15, tags.Int: 6, tags.Bool: 3, tags.String: 3, tags.Bytes: 3}, seen)
	require.Equal(t, 3, writable)
	for _, missing := range []string{"device0.tag1", "device4.tag1", "device1.tag11", "device1.tag0", "device1.tag", "device01.tag1", "device1.tag1 ", "device-1.tag1", "device99999999999999999999.tag1", "x", ""} {
		require.ErrorIs(t, r.ValidatePoint(tags.Point{Address: missing, Type: tags.Float}), tags.ErrNoSuchAddress, missing)
		_, err := r.ValueAt(missing, start)
		require.ErrorIs(t, err, tags.ErrNoSuchAddress)
	}
	require.ErrorIs(t, r.ValidatePoint(tags.Point{Address: "device1.tag1", Type: tags.String}), tags.ErrType)
	require.NoError(t, r.ValidatePoint(tags.Point{Address: "device1.tag3", Type: tags.Float}), "an Int can be read as a Float")
}

// course returns a signal's numbers over n steps.
func course(t *testing.T, s simdriver.Signal, n int) []float64 {
	t.Helper()
	s.Name, s.Type = "x", tags.Float
	d := newDriver(t, simdriver.Options{Signals: []simdriver.Signal{s}})
	out := make([]float64, n)
	for i := range out {
		v, err := d.ValueAt("x", start.Add(time.Duration(i)*time.Second))
		require.NoError(t, err)
		out[i], _ = v.Float()
		if s.Shape != simdriver.Counter {
			require.GreaterOrEqual(t, out[i], s.Min)
			require.LessOrEqual(t, out[i], s.Max)
		}
	}
	return out
}

func TestShapes(t *testing.T) {
	t.Run("Steady", func(t *testing.T) {
		for _, v := range course(t, simdriver.Signal{Shape: simdriver.Steady, Min: 10, Max: 20, Noise: 0.05}, 1000) {
			require.InDelta(t, 15, v, 0.5)
		}
	})
	t.Run("Ramp", func(t *testing.T) {
		c := course(t, simdriver.Signal{Shape: simdriver.Ramp, Max: 60, Period: time.Minute}, 180)
		for i, v := range c {
			require.InDelta(t, float64(i%60), v, 1e-9)
		}
	})
	t.Run("Sine", func(t *testing.T) {
		c := course(t, simdriver.Signal{Shape: simdriver.Sine, Min: -1, Max: 1, Period: 40 * time.Second}, 100)
		for i := range 60 {
			require.InDelta(t, c[i], c[i+40], 1e-9, "one period later")
			require.InDelta(t, 1, c[i]*c[i]+c[i+10]*c[i+10], 1e-9, "a quarter of a period later: sin² + cos² = 1")
		}
	})
	t.Run("RandomWalk", func(t *testing.T) {
		c := course(t, simdriver.Signal{Shape: simdriver.RandomWalk, Max: 100, Period: time.Minute}, 20_000)
		least, most := c[0], c[0]
		for i := 1; i < len(c); i++ {
			require.InDelta(t, c[i-1], c[i], 12, "moves little from step to step")
			least, most = min(least, c[i]), max(most, c[i])
		}
		require.Less(t, least, 25.0, "moves far over time")
		require.Greater(t, most, 75.0, "moves far over time")
	})
	t.Run("Counter", func(t *testing.T) {
		for i, v := range course(t, simdriver.Signal{Shape: simdriver.Counter}, 1000) {
			require.InDelta(t, i, v, 0)
		}
		for i, v := range course(t, simdriver.Signal{Shape: simdriver.Counter, Min: 1, Max: 3, Period: 2 * time.Second}, 1000) {
			require.InDelta(t, 1+i/2%3, v, 0)
		}
	})
}

func TestDegradationWearsFailsAndIsReplaced(t *testing.T) {
	vibration := simdriver.Signal{Name: "vibration", Type: tags.Float, Max: 100, Shape: simdriver.Degradation, Period: 1000 * time.Second, Noise: 0.02, Group: "pump"}
	running := vibration
	running.Name, running.Type = "running", tags.Bool
	d := newDriver(t, simdriver.Options{Signals: []simdriver.Signal{vibration, running}})
	at := func(when time.Time, address string) tags.Value {
		v, err := d.ValueAt(address, when)
		require.NoError(t, err)
		return v
	}
	number := func(when time.Time) float64 { n, _ := at(when, "vibration").Float(); return n }

	from := start.Add(-3 * time.Hour)
	failures, err := d.Failures("vibration", from, start.Add(3*time.Hour))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(failures), 18, "6 h hold at least 18 lives of at most 1,200 s")
	same, err := d.Failures("running", from, start.Add(3*time.Hour))
	require.NoError(t, err)
	require.Equal(t, failures, same, "a group wears out together")
	for _, failed := range failures {
		require.Greater(t, number(failed.Add(-2*time.Second)), 85.0, "worn right before the failure")
		require.Less(t, number(failed.Add(-700*time.Second)), 45.0, "healthy long before")
		require.True(t, at(failed.Add(-2*time.Second), "running").Bool())
		require.False(t, at(failed.Add(2*time.Second), "running").Bool(), "stopped after the failure")
		require.Zero(t, number(failed.Add(2*time.Second)))
		require.InDelta(t, 30, number(failed.Add(200*time.Second)), 3, "replaced")
	}
	none, err := d.Failures("vibration", failures[1], failures[1])
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = d.Failures("x", start, start)
	require.ErrorIs(t, err, tags.ErrNoSuchAddress)
}

func TestFollowerOfSetpoint(t *testing.T) {
	signals := plant()
	signals[3].Noise = 0
	r := newReader(t, simdriver.Options{Signals: signals})
	require.InDelta(t, 80, r.number(time.Second, "temperature"), 1e-9, "settled at the initial setpoint")

	r.put("setpoint", tags.FloatValue(180))
	require.InDelta(t, 80, r.number(time.Second, "temperature"), 1e-9, "does not jump")
	require.InDelta(t, 180-100*math.Exp(-1), r.number(61*time.Second, "temperature"), 1e-9, "63% after one lag")

	before := r.number(121*time.Second, "temperature")
	r.put("setpoint", tags.IntValue(0)) // a whole number is a Float as well
	require.InDelta(t, before, r.number(121*time.Second, "temperature"), 1e-9, "goes on from where it was")
	require.InDelta(t, before*math.Exp(-0.5), r.number(151*time.Second, "temperature"), 1e-9)
	require.InDelta(t, 0, r.number(time.Hour, "temperature"), 1e-6)

	require.NoError(t, r.Close())
	require.NoError(t, r.Connect(t.Context()))
	require.Zero(t, r.number(time.Hour, "setpoint"), "a device keeps what was written")
	v, err := r.ValueAt("setpoint", start.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, tags.FloatValue(80), v, "ValueAt knows of no writes")
}

func TestFollowerOfMovingSignalLags(t *testing.T) {
	r := newReader(t, simdriver.Options{Signals: plant()})
	sum, moved := 0.0, 0.0
	for i := range 600 {
		now := time.Duration(i) * time.Second
		lag := 29 * time.Second // atan(w*T)/w of a first-order lag with T = 30 s at a period of 600 s
		sum += math.Abs(r.number(now+lag, "mixed") - 0.954*r.number(now, "flow"))
		moved += math.Abs(r.number(now, "flow"))
	}
	require.Less(t, sum/moved, 0.06, "the mean deviation from the ideal answer")
}

func TestFaults(t *testing.T) {
	always := simdriver.PointFault{Share: 0.25}
	t.Run("Error", func(t *testing.T) {
		r := newReader(t, simdriver.Options{DeviceCount: 100, TagsPerDevice: 10, Faults: simdriver.Faults{Error: always}})
		failed := func(out []tags.Reading) (which []int) {
			for i, one := range out {
				if one.Err != nil {
					require.ErrorIs(t, one.Err, tags.ErrDevice)
					which = append(which, i)
				}
			}
			return which
		}
		first := failed(r.at(0, r.points()...))
		require.InDelta(t, 250, len(first), 60)
		require.Equal(t, first, failed(r.at(0, r.points()...)), "repeatable")
		require.NotEqual(t, first, failed(r.at(time.Second, r.points()...)), "other points at another step")
	})
	t.Run("Uncertain", func(t *testing.T) {
		r := newReader(t, simdriver.Options{DeviceCount: 100, TagsPerDevice: 10, Faults: simdriver.Faults{Uncertain: always}})
		n := 0
		for _, one := range r.at(0, r.points()...) {
			if one.Quality == tags.Uncertain {
				n++
			}
		}
		require.InDelta(t, 250, n, 60)
	})
	t.Run("Stuck", func(t *testing.T) {
		stuck := simdriver.PointFault{Share: 1, Window: simdriver.Window{Every: time.Minute, For: 20 * time.Second}}
		r := newReader(t, simdriver.Options{Scenario: simdriver.RandomWalk, Faults: simdriver.Faults{Stuck: stuck}})
		at := func(s int) float64 { return r.number(time.Duration(s)*time.Second, "device1.tag1") }
		require.NotEqual(t, at(38), at(39))
		require.NotEqual(t, at(39), at(40))
		require.InDelta(t, at(40), at(59), 0, "stuck at the value with which the window began")
		require.NotEqual(t, at(59), at(60))
	})
	t.Run("Disconnect", func(t *testing.T) {
		cut := simdriver.Window{Every: time.Minute, For: 5 * time.Second}
		r := newReader(t, simdriver.Options{Faults: simdriver.Faults{Disconnect: cut}})
		r.number(54*time.Second, "device1.tag1")
		r.clock.set(55 * time.Second)
		require.ErrorIs(t, r.Read(t.Context(), nil, nil), tags.ErrNotConnected)
		require.Error(t, r.Connect(t.Context()))
		r.clock.set(60 * time.Second)
		require.ErrorIs(t, r.Read(t.Context(), nil, nil), tags.ErrNotConnected, "must be connected again")
		require.NoError(t, r.Connect(t.Context()))
		r.number(61*time.Second, "device1.tag1")
		r.clock.set(125 * time.Second)
		require.ErrorIs(t, r.Read(t.Context(), nil, nil), tags.ErrNotConnected, "an outage that nobody saw cuts the connection too")
	})
	t.Run("Freeze", func(t *testing.T) {
		r := newReader(t, simdriver.Options{Faults: simdriver.Faults{Freeze: simdriver.Window{Every: time.Minute, For: time.Second}}})
		r.clock.set(59 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := r.Read(ctx, nil, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, tags.ErrNotConnected)
		r.number(60*time.Second, "device1.tag1")
	})
}

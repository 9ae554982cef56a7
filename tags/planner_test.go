package tags_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// slowDevice is a device that answers one request at a time for some points with neighbouring
// addresses, and takes its time.
type slowDevice struct {
	*device
	takes time.Duration // an answer
	joins int           // points in a request

	silent   bool // no request is answered, which takes 2 s to see
	panics   bool // in Next
	settles  int  // a point that every answer has, if not 0
	requests int
}

func newSlowDevice(takes time.Duration, joins int) *slowDevice {
	return &slowDevice{device: newDevice(), takes: takes, joins: joins}
}

func (d *slowDevice) change(f func(d *slowDevice)) { d.set(func(*device) { f(d) }) }

func (d *slowDevice) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

func (d *slowDevice) CallTimeout() time.Duration { return 3 * time.Second }

func (d *slowDevice) Plan(points []tags.Point) tags.Requests {
	r := &slowRequests{device: d, points: points}
	for i := range points {
		r.left = append(r.left, i)
	}
	slices.SortFunc(r.left, func(i, j int) int { return cmp.Compare(points[i].Address, points[j].Address) })
	return r
}

type slowRequests struct {
	device *slowDevice
	points []tags.Point
	left   []int
}

func (r *slowRequests) Len() int { return (len(r.left) + r.device.joins - 1) / r.device.joins }

func (r *slowRequests) Next(ctx context.Context, out []tags.Reading) (tags.Answer, error) {
	d := r.device
	d.mu.Lock()
	takes, silent, panics, settles, n := d.takes, d.silent, d.panics, d.settles, min(d.joins, len(r.left))
	d.requests++
	d.mu.Unlock()
	a := tags.Answer{Points: r.left[:n], Asked: time.Now()}
	if panics {
		panic("a defect in the planner")
	}
	if silent {
		time.Sleep(2 * time.Second)
		a.Points = r.left
		for _, i := range a.Points {
			out[i].Err = tags.ErrTimeout
		}
		r.left = nil
		return a, nil
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return a, ctx.Err()
	}
	r.left = r.left[n:]
	one := make([]tags.Reading, 1)
	for _, i := range a.Points {
		if err := d.Read(ctx, r.points[i:i+1], one); err != nil {
			return a, err
		}
		out[i] = one[0]
	}
	if settles != 0 {
		a.Points = append(slices.Clone(a.Points), settles)
	}
	return a, nil
}

func (d *slowDevice) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	select {
	case <-time.After(time.Duration(len(items)) * d.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.device.Write(ctx, items, errs)
}

func manyTags(n int, more ...func(*tags.Tag)) (list []tags.Tag) {
	for i := range n {
		list = append(list, intTag(fmt.Sprintf("plc.%04d", i), more...))
	}
	return list
}

func requireAllGood(t *testing.T, e *tags.Engine, n int) {
	t.Helper()
	for i := range n {
		requireSample(t, e, fmt.Sprintf("plc.%04d", i), tags.IntValue(0), tags.Good, tags.ReasonNone)
	}
}

// A device that takes 100 ms an answer, of which 100 are needed, has a cycle of 10 s instead of 1 s.
func TestASlowDeviceHasALongCycleAndEveryTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(100*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Timeout: 5 * time.Second, Tags: manyTags(100)})
		after(500 * time.Millisecond) // the first poll begins within a second
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: 10 * time.Second, Tags: 100})
		log := observe(e)
		after(10 * time.Second)
		for _, change := range log.take() {
			require.Contains(t, change, " Good")
		}
		for range 120 {
			after(500 * time.Millisecond)
			requireAllGood(t, e, 100)
		}
		require.Empty(t, log.take(), "nothing goes stale")
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: 10 * time.Second, Tags: 100, Requests: 100})
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverOnline, s.State)
		for _, trip := range []time.Duration{s.RoundTrip, s.RoundTripMean, s.RoundTripMax} {
			require.Equal(t, 100*time.Millisecond, trip)
		}
		require.InDelta(t, d.asked(), s.Reads, 1)

		times := map[time.Time]bool{}
		for i := range 100 {
			times[sampleOf(t, e, fmt.Sprintf("plc.%04d", i)).SourceTime] = true
		}
		require.Len(t, times, 100, "each answer has its own time")

		before := d.readsOf("0050")
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.0050", Value: tags.IntValue(7)})
		require.NoError(t, err)
		after(300 * time.Millisecond) // the request under way, the write, and reading back
		requireOutcome(t, e, w, tags.WriteDone)
		requireSample(t, e, "plc.0050", tags.IntValue(7), tags.Good, tags.ReasonNone)
		require.LessOrEqual(t, d.readsOf("0050"), before+2)
	})
}

func requireCycle(t *testing.T, e *tags.Engine, want ...tags.Cycle) {
	t.Helper()
	got := status(t, e, "plc").Cycles
	require.Len(t, got, len(want))
	for i, c := range want {
		require.InDelta(t, c.Reached, got[i].Reached, float64(c.Reached)/20, "reached")
		got[i].Reached = c.Reached
		require.Equal(t, c, got[i])
	}
}

// One answer that takes long does not count for all the others of the poll.
func TestOneLongAnswerIsNoLongCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(100*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Timeout: 5 * time.Second, Tags: manyTags(100)})
		after(30 * time.Second)
		asked := d.asked()
		for d.asked()%100 != 10 { // early in a poll
			after(50 * time.Millisecond)
		}
		require.Less(t, d.asked(), asked+100)
		d.change(func(d *slowDevice) { d.takes = 4 * time.Second })
		asked = d.asked()
		for d.asked() == asked {
			after(50 * time.Millisecond)
		}
		d.change(func(d *slowDevice) { d.takes = 100 * time.Millisecond })
		after(7 * time.Second) // the long one, and some more of the poll
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: 14 * time.Second, Tags: 100, Requests: 100})
	})
}

func TestAFastDeviceReachesItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := online(t, newSlowDevice(time.Millisecond, 10), tags.DriverOptions{Tags: manyTags(100)})
		after(5 * time.Second)
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: time.Second, Tags: 100, Requests: 10})
	})
}

// What a poll will take is known before its end.
func TestADeviceThatBecomesSlowKeepsItsTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Tags: manyTags(100)})
		after(5 * time.Second)
		log := observe(e)
		d.change(func(d *slowDevice) { d.takes = 200 * time.Millisecond })
		after(time.Minute)
		require.Empty(t, log.take())
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: 20 * time.Second, Tags: 100, Requests: 100})
		d.change(func(d *slowDevice) { d.takes = time.Millisecond })
		after(time.Minute)
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: time.Second, Tags: 100, Requests: 100})
		hold := freeze(t, d.device)
		after(5 * time.Second)
		requireSample(t, e, "plc.0099", tags.IntValue(0), tags.Uncertain, tags.ReasonStale)
		hold()
	})
}

// How old a reading may be goes back at once when the device is fast again.
func TestADeviceThatBecomesFastIsJudgedByThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(200*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Tags: manyTags(100)})
		after(time.Minute)
		d.change(func(d *slowDevice) { d.takes = time.Millisecond })
		after(10 * time.Second)
		requireCycle(t, e, tags.Cycle{Wanted: time.Second, Reached: time.Second, Tags: 100, Requests: 100})
		freeze(t, d.device)
		after(6 * time.Second)
		for i := range 100 {
			requireSample(t, e, fmt.Sprintf("plc.%04d", i), tags.IntValue(0), tags.Uncertain, tags.ReasonStale)
		}
	})
}

// A long poll does not stand in the way of tags that are to be read often, nor these in its way where
// the device is too slow for both.
func TestIntervalsShareASlowDevice(t *testing.T) {
	for name, c := range map[string]struct {
		fast           time.Duration
		cycle, longest time.Duration // of the fast tag and of the slow ones, at most
	}{
		"there is time for all": {500 * time.Millisecond, 600 * time.Millisecond, 30 * time.Second},
		"there is not":          {100 * time.Millisecond, 200 * time.Millisecond, 70 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newSlowDevice(100*time.Millisecond, 1)
				list := append(manyTags(200, every(30*time.Second)), intTag("plc.fast", every(c.fast)))
				e := online(t, d, tags.DriverOptions{Tags: list})
				after(c.longest + time.Second)
				requireAllGood(t, e, 200)
				log := observe(e)
				before := d.readsOf("fast")
				after(5 * time.Minute)
				require.Empty(t, log.take(), "nothing goes stale")
				require.GreaterOrEqual(t, d.readsOf("fast")-before, int(5*time.Minute/c.cycle))
				cycles := status(t, e, "plc").Cycles
				require.LessOrEqual(t, cycles[0].Reached, c.cycle)
				require.LessOrEqual(t, cycles[1].Reached, c.longest)
			})
		})
	}
}

// Tags that are defined while a long poll is under way do not begin it again.
func TestDefinitionsDoNotBeginAPollAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(100*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Tags: manyTags(100)})
		for i := range 20 {
			after(time.Second)
			require.NoError(t, e.DefineTags(intTag(fmt.Sprintf("plc.new%02d", i))))
		}
		requireAllGood(t, e, 100)
		after(25 * time.Second)
		requireSample(t, e, "plc.new19", tags.IntValue(0), tags.Good, tags.ReasonNone)
	})
}

func TestWritesToASlowDeviceHaveATimeoutEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(100*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Timeout: 5 * time.Second, Tags: manyTags(100)})
		after(20 * time.Second)
		log := observe(e)
		var writes []tags.WriteRequest
		for i := range 100 { // which take twice the timeout together
			writes = append(writes, tags.WriteRequest{Tag: fmt.Sprintf("plc.%04d", i), Value: tags.IntValue(0)})
		}
		accepted, _, err := e.WriteMany(t.Context(), writes)
		require.NoError(t, err)
		require.Len(t, accepted, 100)
		after(time.Minute)
		require.Len(t, d.writtenValues(), 100)
		for _, w := range accepted {
			requireOutcome(t, e, w, tags.WriteDone)
		}
		require.Empty(t, log.take(), "they do not keep the tags from being read")
	})
}

func TestADeviceThatWasSilentIsReadAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowDevice(10*time.Millisecond, 1)
		e := online(t, d, tags.DriverOptions{Tags: manyTags(100)})
		after(5 * time.Second)
		d.change(func(d *slowDevice) { d.silent = true })
		taken := sampleOf(t, e, "plc.0007").SourceTime
		after(170 * time.Second)
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverNotResponding, s.State)
		require.Len(t, s.Cycles, 1)
		requireSample(t, e, "plc.0007", tags.IntValue(0), tags.Bad, tags.ReasonTimeout)
		require.Less(t, sampleOf(t, e, "plc.0007").SourceTime.Sub(taken), 5*time.Second, "the time of the last value stays")
		d.change(func(d *slowDevice) { d.silent = false })
		after(4 * time.Second)
		requireAllGood(t, e, 100)
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
	})
}

func TestPlannersWithADefect(t *testing.T) {
	for name, harm := range map[string]func(d *slowDevice){
		"panics in Next":              func(d *slowDevice) { d.panics = true },
		"settles what is not there":   func(d *slowDevice) { d.settles = 100 },
		"settles what is before zero": func(d *slowDevice) { d.settles = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newSlowDevice(time.Millisecond, 10)
				e := online(t, d, tags.DriverOptions{Tags: manyTags(100)})
				d.change(harm)
				after(10 * time.Second)
				require.Contains(t, status(t, e, "plc").LastError, "driver")
				require.Equal(t, tags.Bad, sampleOf(t, e, "plc.0099").Quality)
				require.Less(t, d.asked(), 500, "it is not asked without a pause")
				d.change(func(d *slowDevice) { d.panics, d.settles = false, 0 })
				after(30 * time.Second)
				requireAllGood(t, e, 100)
			})
		})
	}
}

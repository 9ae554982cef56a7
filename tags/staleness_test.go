package tags_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// freeze makes the device hang in Read until it is thawed; no timeout of the engine reaches it.
func freeze(t *testing.T, d *device) (thaw func()) {
	hold := make(chan struct{})
	d.set(func(d *device) { d.hold = hold })
	thawed := false
	thaw = func() {
		if !thawed {
			thawed = true
			d.set(func(d *device) { d.hold = nil })
			close(hold)
		}
	}
	t.Cleanup(thaw)
	return thaw
}

func TestReadingsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", tags.IntValue(7))
		d.has("own", tags.IntValue(8))
		e := online(t, d, tags.DriverOptions{PollInterval: time.Second, Tags: []tags.Tag{
			intTag("plc.a"),
			intTag("plc.own", func(t *tags.Tag) { t.StaleAfter = 20 * time.Second }),
		}})
		log := observe(e)
		thaw := freeze(t, d)
		after(2 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Good, tags.ReasonNone)
		after(3 * time.Second) // more than three intervals since the last reading
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Uncertain, tags.ReasonStale)
		requireSample(t, e, "plc.own", tags.IntValue(8), tags.Good, tags.ReasonNone)
		after(5 * time.Second) // more than nine
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Bad, tags.ReasonStale)
		after(15 * time.Second)
		requireSample(t, e, "plc.own", tags.IntValue(8), tags.Uncertain, tags.ReasonStale)
		after(45 * time.Second)
		requireSample(t, e, "plc.own", tags.IntValue(8), tags.Bad, tags.ReasonStale)
		require.Equal(t, []string{
			"plc.a 7 Uncertain Stale", "plc.a 7 Bad Stale", "plc.own 8 Uncertain Stale", "plc.own 8 Bad Stale",
		}, log.take(), "each step is told once")
		thaw()
		after(2 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Good, tags.ReasonNone)
	})
}

func TestOutOfRangeAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", tags.IntValue(7))
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", between(0, 1))}})
		freeze(t, d)
		after(6 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Uncertain, tags.ReasonStale)
	})
}

// The wall clock is set by people and by NTP; durations do not depend on it.
func TestClockThatJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shift atomic.Int64
				clock := func() time.Time { return time.Now().Add(time.Duration(shift.Load())).Round(0) }
				e := newEngine(t, tags.Options{Now: clock})
				d := newDevice()
				require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{
					intTag("plc.a"),
					intTag("plc.beat", func(t *tags.Tag) { t.Deadband.Heartbeat = 5 * time.Second }),
				}}))
				after(2 * time.Second)
				log := observe(e)
				shift.Store(int64(jump))
				after(500 * time.Millisecond) // a sweep before the next reading
				require.Empty(t, log.take(), "nothing has aged")
				d.has("a", tags.IntValue(1))
				after(time.Second)
				requireSample(t, e, "plc.a", tags.IntValue(1), tags.Good, tags.ReasonNone)
				require.True(t, sampleOf(t, e, "plc.a").ServerTime.Before(clock().Add(time.Second)))
				require.Equal(t, []string{"plc.a 1 Good"}, log.take())
				after(5 * time.Second)
				require.Equal(t, []string{"plc.beat 0 Good"}, log.take(), "the heartbeat goes on")
				freeze(t, d)
				after(5 * time.Second)
				requireSample(t, e, "plc.a", tags.IntValue(1), tags.Uncertain, tags.ReasonStale)
			})
		})
	}
}

func TestLateReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		d.has("a", tags.IntValue(1))
		e := online(t, d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: []tags.Tag{
			intTag("plc.a", func(t *tags.Tag) { t.StaleAfter = 10 * time.Second }),
		}})
		s, err := e.Subscribe(tags.SubscribeOptions{Names: []string{"plc.a"}})
		require.NoError(t, err)
		defer s.Close()
		_, err = s.Next(t.Context(), 0)
		require.NoError(t, err)
		log := observe(e)
		late := func(v int64, at time.Time, err error) {
			d.push(t, "a", tags.Reading{Value: tags.IntValue(v), Quality: tags.Good, Time: at, Late: true, Err: err})
		}
		after(5 * time.Second)

		late(2, time.Now().Add(-time.Minute), nil)
		late(3, time.Now().Add(-time.Minute), errDevice)
		require.Equal(t, []string{"plc.a 2 Good late", "plc.a Bad DeviceError late"}, log.take(), "history hears of old readings")
		requireSample(t, e, "plc.a", tags.IntValue(1), tags.Good, tags.ReasonNone)

		late(4, time.Now().Add(-time.Second), nil)
		requireSample(t, e, "plc.a", tags.IntValue(4), tags.Good, tags.ReasonNone)
		require.Equal(t, []string{"plc.a 4 Good"}, log.take(), "it is the newest there is")
		changes, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, changes, 1, "subscribers hear of the newest reading alone")
		require.Equal(t, "plc.a 4 Good", describe(changes[0]))

		for range 20 { // a buffer that is played back does not keep the tag alive
			after(time.Second)
			late(5, time.Now().Add(-time.Hour), nil)
		}
		requireSample(t, e, "plc.a", tags.IntValue(4), tags.Uncertain, tags.ReasonStale)
	})
}

func TestDeviceClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		for i, c := range []struct {
			ahead    time.Duration
			believed bool
		}{
			{23 * time.Hour, true}, {25 * time.Hour, false}, {1e6 * time.Hour, false}, {-1e6 * time.Hour, true},
		} {
			at := time.Now().Add(c.ahead)
			d.set(func(d *device) {
				d.readings["a"] = tags.Reading{Value: tags.IntValue(int64(i)), Quality: tags.Good, Time: at}
			})
			after(time.Second)
			s := sampleOf(t, e, "plc.a")
			require.Equal(t, tags.IntValue(int64(i)), s.Value)
			if c.believed {
				require.Equal(t, at, s.SourceTime)
			} else {
				require.Equal(t, s.ServerTime, s.SourceTime)
			}
		}
	})
}

func TestLateReadingOfATagThatHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		d.set(func(d *device) { d.readings["a"] = tags.Reading{Err: errDevice} })
		e := online(t, d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		d.push(t, "a", tags.Reading{Value: tags.IntValue(2), Quality: tags.Good, Time: time.Now().Add(-time.Minute), Late: true})
		requireSample(t, e, "plc.a", tags.IntValue(2), tags.Good, tags.ReasonNone)
	})
}

// A tag that was removed is not kept for as long as its readings were good.
func TestTheWheelLetsGoOfRemovedTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.has("a", tags.IntValue(7))
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", func(t *tags.Tag) { t.StaleAfter = 24 * time.Hour })}})
		after(time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(7), tags.Good, tags.ReasonNone)
		require.NotZero(t, e.Planned())
		e.RemoveTags("plc.a")
		after(2 * time.Minute)
		require.Zero(t, e.Planned())
	})
}

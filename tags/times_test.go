package tags_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// lastUpdated is the time of the value, whatever becomes of its quality. History and subscribers hear
// when the quality fell.
func TestDegradingLeavesTheTimeOfTheValue(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, d *device)
		want tags.Reason
	}{
		"no connection":    {func(_ *testing.T, d *device) { d.set(func(d *device) { d.readErr = tags.ErrNotConnected }) }, tags.ReasonNotConnected},
		"failed calls":     {func(_ *testing.T, d *device) { d.set(func(d *device) { d.readErr = errDevice }) }, tags.ReasonNotConnected},
		"a failed reading": {func(_ *testing.T, d *device) { d.fails(tags.ErrTimeout, "a") }, tags.ReasonTimeout},
		"no call":          {func(t *testing.T, d *device) { freeze(t, d) }, tags.ReasonStale},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.has("a", tags.IntValue(7))
				store := history.NewMemory()
				recorder, err := history.NewRecorder(store, history.RecorderOptions{})
				require.NoError(t, err)
				e := newEngine(t, tags.Options{})
				e.Observe(recorder.Observe)
				require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
				after(5 * time.Second)
				taken := sampleOf(t, e, "plc.a").SourceTime
				s, err := e.Subscribe(tags.SubscribeOptions{Names: []string{"plc.a"}})
				require.NoError(t, err)
				defer s.Close()
				_, err = s.Next(t.Context(), 0)
				require.NoError(t, err)

				broken := time.Now()
				c.harm(t, d)
				after(15 * time.Second)
				got := sampleOf(t, e, "plc.a")
				require.Equal(t, tags.Bad, got.Quality)
				require.Equal(t, c.want, got.Reason)
				require.Equal(t, tags.IntValue(7), got.Value)
				require.Equal(t, taken, got.SourceTime)
				require.False(t, got.ServerTime.Before(broken))

				changes, err := s.Next(t.Context(), 0)
				require.NoError(t, err)
				require.True(t, changes[0].Degraded)
				require.Equal(t, taken, changes[0].SourceTime)
				require.False(t, changes[0].Time().Before(broken))
				require.NoError(t, recorder.Close(t.Context()))
				var last history.Sample
				for sample, err := range store.Range(t.Context(), "plc.a", broken, time.Now().Add(time.Second)) {
					require.NoError(t, err)
					last = sample
				}
				require.Equal(t, c.want, last.Reason)
				require.Equal(t, got.ServerTime.UTC().Truncate(time.Microsecond), last.Time.UTC().Truncate(time.Microsecond))
			})
		})
	}
}

func TestHistoryOfAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := history.NewMemory()
		r, err := history.NewRecorder(store, history.RecorderOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close(t.Context())) }()
		d := newDevice()
		e := newEngine(t, tags.Options{})
		defer e.Observe(r.Observe)()
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}}))
		start := time.Now()
		for i := range 5 {
			d.has("a", tags.IntValue(int64(i)))
			after(time.Second)
		}
		d.set(func(d *device) { d.readErr = tags.ErrNotConnected })
		after(2 * time.Second)
		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		require.NoError(t, r.Flush(t.Context()))
		var got []string
		for s, err := range store.Range(t.Context(), "plc.a", start, time.Now().Add(time.Second)) {
			require.NoError(t, err)
			got = append(got, fmt.Sprint(s.Value, " ", s.Quality, " ", s.Reason))
		}
		require.Equal(t, []string{"0 Good ", "1 Good ", "2 Good ", "3 Good ", "4 Good ", "4 Bad NotConnected", "4 Bad NoDriver"}, got)
	})
}

// A device may send a value again that it took before the tag was defined or its connection was lost. History must not end with a fall of the
// quality while the tag is good.
func TestHistoryEndsWithTheQualityThatTheTagHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := history.NewMemory()
		recorder, err := history.NewRecorder(store, history.RecorderOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, recorder.Close(t.Context())) }()
		e := newEngine(t, tags.Options{})
		e.Observe(recorder.Observe)
		start := time.Now()
		require.NoError(t, e.DefineTags(intTag("plc.a")))
		d := newPushDevice()
		has := func(value int64, age time.Duration) tags.Reading {
			r := tags.Reading{Value: tags.IntValue(value), Quality: tags.Good, Time: time.Now().Add(-age)}
			d.set(func(d *device) { d.readings["a"] = r })
			return r
		}
		has(1, time.Minute)
		after(time.Second)
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{RefreshInterval: time.Hour}))
		after(time.Second)
		d.push(t, "a", has(2, 1100*time.Millisecond)) // by a clock that lags
		after(time.Second)
		d.push(t, "a", has(3, 1500*time.Millisecond))
		after(time.Second)
		d.set(func(d *device) { d.readErr = tags.ErrNotConnected })
		d.dead <- tags.ErrNotConnected
		after(time.Minute)
		d.set(func(d *device) { d.readErr = nil })
		after(time.Minute)
		requireSample(t, e, "plc.a", tags.IntValue(3), tags.Good, tags.ReasonNone)
		taken := has(4, time.Second)
		d.push(t, "a", taken)

		require.NoError(t, recorder.Flush(t.Context()))
		var got []string
		var times []time.Duration
		for s, err := range store.Range(t.Context(), "plc.a", start.Add(-time.Hour), time.Now().Add(time.Hour)) {
			require.NoError(t, err)
			got, times = append(got, fmt.Sprint(s.Value, " ", s.Quality, " ", s.Reason)), append(times, s.Time.Sub(start))
		}
		require.Equal(t, []string{" Bad WaitingForData", "1 Good ", "2 Good ", "3 Good ", "3 Bad NotConnected", "3 Good ", "4 Good "}, got)
		require.Equal(t, []time.Duration{2 * time.Second, 3 * time.Second}, times[2:4], "when they came")
		require.Greater(t, times[5]-times[4], 50*time.Second, "the loss has its whole length")
		require.Equal(t, taken.Time.Sub(start), times[6], "a later value has its own time")
	})
}

// The clock of a device may be ahead of the engine's. History must not end with a good value while the tag is not good, nor the other way round.
func TestHistoryOfADeviceWhoseClockIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := history.NewMemory()
		recorder, err := history.NewRecorder(store, history.RecorderOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, recorder.Close(t.Context())) }()
		e := newEngine(t, tags.Options{})
		e.Observe(recorder.Observe)
		start := time.Now()
		d := newPushDevice()
		ends := func(want string) {
			t.Helper()
			require.NoError(t, recorder.Flush(t.Context()))
			last := ""
			for s, err := range store.Range(t.Context(), "plc.a", start.Add(-time.Hour), time.Now().Add(48*time.Hour)) {
				require.NoError(t, err)
				last = fmt.Sprint(s.Value, " ", s.Quality, " ", s.Reason, " ", s.Time.Sub(start).Truncate(time.Second))
			}
			require.Equal(t, want, last)
		}
		value := func(value int64, ahead time.Duration) tags.Reading {
			r := tags.Reading{Value: tags.IntValue(value), Quality: tags.Good, Time: time.Now().Add(ahead)}
			d.set(func(d *device) { d.readings["a"], d.readErr = r, nil })
			return r
		}
		taken := value(1, 5*time.Minute)
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}}))
		after(time.Second)
		ends("1 Good  5m0s")
		for range 2 {
			d.set(func(d *device) { d.readErr = tags.ErrNotConnected })
			d.dead <- tags.ErrNotConnected
			after(10 * time.Second)
			ends("1 Bad NotConnected 5m0s")
			d.set(func(d *device) { d.readings["a"], d.readErr = taken, nil })
			after(time.Minute)
			requireSample(t, e, "plc.a", tags.IntValue(1), tags.Good, tags.ReasonNone)
			ends("1 Good  5m0s") // sent again
		}
		d.push(t, "a", value(2, 5*time.Minute))
		after(time.Second)
		ends("2 Good  7m21s")
		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		ends("2 Bad NoDriver 7m21s")
	})
}

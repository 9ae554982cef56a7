package tags_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestPollingIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := newEngine(t, tags.Options{})
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{PollInterval: 2 * time.Second, Tags: []tags.Tag{
			intTag("plc.fast", every(100*time.Millisecond)),
			intTag("plc.second", every(time.Second)), intTag("plc.also", every(time.Second)),
			intTag("plc.default"),
			intTag("plc.slow", every(30*time.Second)),
		}}))
		after(time.Minute)
		for address, want := range map[string]int{"fast": 600, "second": 60, "also": 60, "default": 30, "slow": 2} {
			require.InDelta(t, want, d.readsOf(address), float64(want)/50+1, address)
		}
		require.Equal(t, 2, d.largestRead(), "tags of one interval are read together, and no others")
		s := status(t, e, "plc")
		require.Equal(t, 5, s.Tags)
		require.Equal(t, tags.DriverOnline, s.State)
		require.InDelta(t, 600+60+30+2, s.Reads, 20)
		require.InDelta(t, 600+120+30+2, s.Samples, 20)
		require.EqualValues(t, 5, s.Changes)
		require.InDelta(t, 12.5, s.SamplesPerSec, 1.5)
		require.Zero(t, s.ReadErrors)
	})
}

func TestFirstReadingComesWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		require.Equal(t, 1, d.readsOf("a"))
		require.NoError(t, e.DefineTags(intTag("plc.b")))
		after(time.Second)
		require.Equal(t, 1, d.readsOf("b"), "also for a tag that comes later")
	})
}

func TestPollingPhasesAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, tags.Options{})
		first := map[time.Time]bool{}
		for i := range 20 {
			id := fmt.Sprintf("plc%d", i)
			require.NoError(t, e.AddDriver(id, newDevice(), tags.DriverOptions{Tags: []tags.Tag{intTag(id + ".a")}}))
		}
		after(time.Second)
		for i := range 20 {
			first[sampleOf(t, e, fmt.Sprintf("plc%d.a", i)).ServerTime] = true
		}
		require.Greater(t, len(first), 10, "drivers that start together do not poll together")
	})
}

func TestBatches(t *testing.T) {
	for name, c := range map[string]struct{ limit, largest int }{"of the driver": {7, 7}, "default": {0, 500}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.batch = c.limit
				var list []tags.Tag
				for i := range 1203 {
					name := fmt.Sprintf("%04d", i)
					list = append(list, intTag("plc."+name))
					d.has(name, tags.IntValue(int64(i)))
				}
				e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: list})
				require.Equal(t, c.largest, d.largestRead())
				for i := range 1203 {
					requireSample(t, e, fmt.Sprintf("plc.%04d", i), tags.IntValue(int64(i)), tags.Good, tags.ReasonNone)
				}
				if c.limit > 0 { // reading back after writing keeps to the limit too
					var writes []tags.WriteRequest
					for i := range 100 {
						writes = append(writes, tags.WriteRequest{Tag: fmt.Sprintf("plc.%04d", i), Value: tags.IntValue(-1), Confirm: true})
					}
					_, _, err := e.WriteMany(t.Context(), writes)
					require.NoError(t, err)
					after(time.Second)
					require.Equal(t, c.limit, d.largestRead())
					requireSample(t, e, "plc.0099", tags.IntValue(-1), tags.Good, tags.ReasonNone)
				}
			})
		})
	}
}

// A device that is slower than its interval is polled without a pause, but not more often than it can.
func TestMissedPollsAreNotMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		online(t, d, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{intTag("plc.a")}})
		thaw := freeze(t, d)
		after(time.Minute)
		thaw()
		synctest.Wait()
		before := d.readsOf("a")
		after(time.Second)
		require.InDelta(t, 10, d.readsOf("a")-before, 2)
	})
}

func TestWritesDoNotWaitForTheEndOfAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.batch = 1
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b"), intTag("plc.c")}})
		thaw := freeze(t, d)
		after(2 * time.Second)
		before := d.readsOf("c")
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.c", Value: tags.IntValue(5)})
		require.NoError(t, err)
		gate := make(chan struct{})
		d.set(func(d *device) { d.holdWrite = gate })
		thaw()
		synctest.Wait()
		require.Equal(t, before, d.readsOf("c"), "the write goes before the rest of the poll")
		d.set(func(d *device) { d.holdWrite = nil })
		close(gate)
		synctest.Wait()
		require.Len(t, d.writtenValues(), 1)
	})
}

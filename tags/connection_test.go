package tags_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestBackoffDoublesUpToItsLimitAndResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.connectErr = errDevice
		e := newEngine(t, tags.Options{})
		require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{
			MinBackoff: time.Second, MaxBackoff: 10 * time.Second, Tags: []tags.Tag{intTag("plc.a")},
		}))
		synctest.Wait()
		requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonNotConnected)
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverBackoff, s.State)
		require.Equal(t, errDevice.Error(), s.LastError)
		require.False(t, s.LastErrorAt.IsZero())
		after(time.Minute)
		requireWaits(t, d, time.Second, 2*time.Second, 4*time.Second, 8*time.Second, 10*time.Second, 10*time.Second)

		d.set(func(d *device) { d.connectErr = nil })
		after(12 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Good, tags.ReasonNone)
		require.False(t, status(t, e, "plc").ConnectedSince.IsZero())
		require.EqualValues(t, 1, status(t, e, "plc").Connects)

		d.set(func(d *device) {
			d.connects, d.readErr, d.connectErr = []time.Time{time.Now()}, tags.ErrNotConnected, errDevice
		})
		after(10 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNotConnected)
		d.set(func(d *device) { d.connects = d.connects[1:] })
		requireWaits(t, d, 2*time.Second)
	})
}

// requireWaits checks the pauses between attempts to connect, which have a jitter of 20 %.
func requireWaits(t *testing.T, d *device, want ...time.Duration) {
	t.Helper()
	attempts := d.attempts()
	require.Greater(t, len(attempts), len(want))
	for i, w := range want {
		got := attempts[i+1].Sub(attempts[i])
		require.LessOrEqual(t, got, w, "wait %d", i)
		require.GreaterOrEqual(t, got, w*8/10, "wait %d", i)
	}
}

// A device that accepts connections and then fails must not be hammered.
func TestBackoffGrowsWhenOnlyConnectingWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.readErr = tags.ErrNotConnected
		online(t, d, tags.DriverOptions{MinBackoff: time.Second, MaxBackoff: time.Minute, Tags: []tags.Tag{intTag("plc.a")}})
		after(10 * time.Minute)
		require.Less(t, len(d.attempts()), 20)
		require.Greater(t, len(d.attempts()), 8)
	})
}

func TestOneDeadDriverDoesNotDelayAnother(t *testing.T) {
	for name, harm := range map[string]func(d *device, hold chan struct{}){
		"hangs in Read":   func(d *device, hold chan struct{}) { d.hold = hold },
		"panics in Read":  func(d *device, _ chan struct{}) { d.panics = true },
		"cannot connect":  func(d *device, _ chan struct{}) { d.connectErr = errDevice },
		"loses each call": func(d *device, _ chan struct{}) { d.readErr = tags.ErrNotConnected },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bad, good := newDevice(), newDevice()
				hold := make(chan struct{})
				harm(bad, hold)
				e := newEngine(t, tags.Options{})
				t.Cleanup(func() { close(hold) })
				require.NoError(t, e.AddDriver("bad", bad, tags.DriverOptions{Tags: []tags.Tag{intTag("bad.a")}}))
				require.NoError(t, e.AddDriver("good", good, tags.DriverOptions{Tags: []tags.Tag{intTag("good.a")}}))
				after(time.Minute)
				require.InDelta(t, 60, good.readsOf("a"), 1)
				require.Equal(t, tags.Good, sampleOf(t, e, "good.a").Quality)
				require.Equal(t, tags.Bad, sampleOf(t, e, "bad.a").Quality)
				w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "good.a", Value: tags.IntValue(3)})
				require.NoError(t, err)
				synctest.Wait()
				requireOutcome(t, e, w, tags.WriteDone)
			})
		})
	}
}

func TestAPanicIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		d.set(func(d *device) { d.panics = true })
		after(time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonDevice)
		require.Equal(t, "driver panicked: a defect in the driver", status(t, e, "plc").LastError, "without the stack, which is for the log")
		d.set(func(d *device) { d.panics = false })
		after(time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Good, tags.ReasonNone)
	})
}

func TestThreeFailedCallsReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		d.set(func(d *device) { d.readErr = fmt.Errorf("odd: %w", context.DeadlineExceeded) })
		after(2 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonTimeout)
		require.EqualValues(t, 1, status(t, e, "plc").Connects, "two failures are not yet a lost connection")
		d.set(func(d *device) { d.readErr = nil })
		after(time.Second)
		d.set(func(d *device) { d.readErr = errDevice })
		after(2 * time.Second)
		require.EqualValues(t, 1, status(t, e, "plc").Connects, "they count in a row only")
		after(2 * time.Second)
		require.EqualValues(t, 2, status(t, e, "plc").Connects)
		require.GreaterOrEqual(t, d.closes(), 1, "the half-open connection was closed")
		d.set(func(d *device) { d.readErr = nil })
		after(5 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Good, tags.ReasonNone)
	})
}

func TestErrNotConnectedReconnectsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{MinBackoff: 5 * time.Second, Tags: []tags.Tag{intTag("plc.a")}})
		d.set(func(d *device) { d.readErr = fmt.Errorf("read: %w", tags.ErrNotConnected) })
		after(time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNotConnected)
		d.set(func(d *device) { d.readErr = nil })
		after(7 * time.Second)
		requireSample(t, e, "plc.a", tags.IntValue(0), tags.Good, tags.ReasonNone)
		require.EqualValues(t, 2, status(t, e, "plc").Connects)
	})
}

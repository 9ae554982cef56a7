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

// fails sets the error of single points.
func (d *device) fails(err error, addresses ...string) {
	d.set(func(d *device) {
		for _, a := range addresses {
			d.readings[a] = tags.Reading{Err: err}
		}
	})
}

func TestDeviceThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.batch = 1
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b"), intTag("plc.c")}})
		silent := fmt.Errorf("unit 1: %w", tags.ErrTimeout)
		d.fails(silent, "a", "b")
		after(time.Second)
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverOnline, s.State, "it answers for c")
		require.Equal(t, silent.Error(), s.LastError, "errors of single points are told")
		require.Equal(t, time.Now().Truncate(time.Minute), s.LastErrorAt.Truncate(time.Minute))

		d.fails(silent, "c")
		after(time.Second)
		s = status(t, e, "plc")
		require.Equal(t, tags.DriverNotResponding, s.State)
		require.False(t, s.ConnectedSince.IsZero(), "it is connected all the same")
		require.EqualValues(t, 1, s.Connects)
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.ErrorIs(t, err, tags.ErrDriverOffline)

		d.has("b", tags.IntValue(5))
		after(time.Second)
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.b", Value: tags.IntValue(1)})
		require.NoError(t, err)
		synctest.Wait()
		requireOutcome(t, e, w, tags.WriteDone)
	})
}

func TestWhatIsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		a, b error
		want tags.DriverState
	}{
		"an error of the device":   {errDevice, tags.ErrTimeout, tags.DriverOnline},
		"no such address":          {tags.ErrNoSuchAddress, tags.ErrTimeout, tags.DriverOnline},
		"never asked":              {tags.ErrAddress, tags.ErrTimeout, tags.DriverNotResponding},
		"never asked for anything": {tags.ErrAddress, tags.ErrAddress, tags.DriverOnline},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
				d.fails(c.a, "a")
				d.fails(c.b, "b")
				after(time.Second)
				require.Equal(t, c.want, status(t, e, "plc").State)
				d.fails(errDevice, "a", "b")
				after(time.Second)
				require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
			})
		})
	}
}

func TestCallThatTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		d.set(func(d *device) { d.readErr = fmt.Errorf("read: %w", context.DeadlineExceeded) })
		after(time.Second)
		require.Equal(t, tags.DriverNotResponding, status(t, e, "plc").State)
		require.EqualValues(t, 1, status(t, e, "plc").Connects)
		after(3 * time.Second)
		require.EqualValues(t, 2, status(t, e, "plc").Connects, "three in a row are a lost connection")
		d.set(func(d *device) { d.readErr = nil })
		after(5 * time.Second)
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverOnline, s.State)
		require.EqualValues(t, 2, s.Connects)
	})
}

func TestCallThatDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		e := online(t, d, tags.DriverOptions{Timeout: time.Second, RefreshInterval: time.Second, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		thaw := freeze(t, d.device)
		after(2 * time.Second)
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
		after(3 * time.Second)
		s := status(t, e, "plc")
		require.Equal(t, tags.DriverNotResponding, s.State)
		require.Equal(t, "a call of the driver has not come back for more than 2s", s.LastError)
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.ErrorIs(t, err, tags.ErrDriverOffline)
		d.push(t, "b", tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
		require.Equal(t, tags.DriverNotResponding, status(t, e, "plc").State, "a write would wait for the call")
		thaw()
		synctest.Wait()
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
	})
}

func TestPushedReadingEndsNotResponding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		e := online(t, d, tags.DriverOptions{RefreshInterval: time.Second, Tags: []tags.Tag{intTag("plc.a")}})
		d.fails(tags.ErrTimeout, "a")
		after(time.Second)
		require.Equal(t, tags.DriverNotResponding, status(t, e, "plc").State)
		d.push(t, "a", tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
	})
}

// A dead unit behind a gateway, with tags of an interval of their own, is not a dead gateway.
func TestDeadUnitOfAnotherInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{
			intTag("plc.dead", every(100*time.Millisecond)), intTag("plc.live", every(time.Minute)),
		}})
		d.fails(tags.ErrTimeout, "dead")
		for range 100 {
			after(130 * time.Millisecond)
			require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
		}
		d.fails(tags.ErrTimeout, "live")
		after(200 * time.Millisecond)
		require.Equal(t, tags.DriverNotResponding, status(t, e, "plc").State, "the slow tag is asked at once")
		asked := d.readsOf("live")
		after(10 * time.Second)
		require.Equal(t, asked, d.readsOf("live"), "and then at its own pace again")
	})
}

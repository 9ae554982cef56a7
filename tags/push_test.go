package tags_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func TestSubscriberDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		e := online(t, d, tags.DriverOptions{RefreshInterval: time.Minute, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		require.Equal(t, []string{"a b"}, d.subscriptions())
		require.Equal(t, 1, d.readsOf("a"), "the first values are read")
		d.push(t, "b", tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
		requireSample(t, e, "plc.b", tags.IntValue(5), tags.Good, tags.ReasonNone)
		d.set(func(*device) { // an index that is none harms nobody
			d.emit(99, tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
			d.emit(-1, tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
		})

		after(10 * time.Minute)
		require.InDelta(t, 11, d.readsOf("a"), 1, "every point is read now and then")
		require.Equal(t, []string{"a b"}, d.subscriptions())
		require.Equal(t, tags.Good, sampleOf(t, e, "plc.a").Quality, "refreshing keeps a quiet tag good")
	})
}

// laggingDevice reads at once and gives the values back when gate is closed.
type laggingDevice struct {
	*pushDevice
	gate chan struct{}
}

func (d *laggingDevice) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	err := d.pushDevice.Read(ctx, points, out)
	<-d.gate
	return err
}

func TestPollDoesNotUndoWhatWasPushedMeanwhile(t *testing.T) {
	for name, pushed := range map[string]tags.Reading{
		"a value":  {Value: tags.IntValue(99), Quality: tags.Good},
		"an error": {Err: errDevice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &laggingDevice{newPushDevice(), make(chan struct{})}
				d.has("a", tags.IntValue(1))
				d.has("b", tags.IntValue(2))
				e := online(t, d, tags.DriverOptions{RefreshInterval: 30 * time.Second, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
				d.push(t, "a", pushed)
				was := sampleOf(t, e, "plc.a")
				close(d.gate)
				after(time.Second)
				require.Equal(t, was, sampleOf(t, e, "plc.a"))
				requireSample(t, e, "plc.b", tags.IntValue(2), tags.Good, tags.ReasonNone)

				d.has("a", tags.IntValue(3)) // nobody tells of it
				after(30 * time.Second)
				requireSample(t, e, "plc.a", tags.IntValue(3), tags.Good, tags.ReasonNone)
			})
		})
	}
}

func TestDeadSubscriptionReconnects(t *testing.T) {
	for name, err := range map[string]error{"reports it": tags.ErrNotConnected, "just ends": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newPushDevice()
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
				d.dead <- err
				synctest.Wait()
				requireSample(t, e, "plc.a", tags.IntValue(0), tags.Bad, tags.ReasonNotConnected)
				after(2 * time.Second)
				require.EqualValues(t, 2, status(t, e, "plc").Connects)
				require.Equal(t, []string{"a", "a"}, d.subscriptions())
				requireSample(t, e, "plc.a", tags.IntValue(0), tags.Good, tags.ReasonNone)
				d.push(t, "a", tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
				requireSample(t, e, "plc.a", tags.IntValue(5), tags.Good, tags.ReasonNone)
			})
		})
	}
}

func TestSubscriptionFollowsTheTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPushDevice()
		e := online(t, d, tags.DriverOptions{})
		require.Empty(t, d.subscriptions(), "there is nothing to subscribe to")
		require.NoError(t, e.DefineTags(intTag("plc.a"), intTag("plc.b")))
		after(time.Second)
		require.Equal(t, []string{"a b"}, d.subscriptions())
		require.NoError(t, e.DefineTags(intTag("plc.c")))
		after(time.Second)
		require.Equal(t, []string{"a b", "a b c"}, d.subscriptions())
		require.Equal(t, 1, d.readsOf("c"))
		d.push(t, "c", tags.Reading{Value: tags.IntValue(5), Quality: tags.Good})
		requireSample(t, e, "plc.c", tags.IntValue(5), tags.Good, tags.ReasonNone)
		e.RemoveTags("plc.a", "plc.b")
		after(time.Second)
		require.Equal(t, "c", d.subscriptions()[2])
		e.RemoveTags("plc.c")
		after(time.Second)
		require.Len(t, d.subscriptions(), 3)
		require.False(t, d.isSubscribed(), "nothing is subscribed any more")
		require.EqualValues(t, 1, status(t, e, "plc").Connects, "none of this is a lost connection")
	})
}

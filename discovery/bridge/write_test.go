package bridge_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// write lets the engine write to the first tag, before a time from now by its clock.
func (r *rig) write(id uint64, tag string, v tags.Value, in time.Duration) {
	r.engine.send(link.FromEngine{Write: &link.Write{ID: id, Tag: tag, Value: v, Deadline: r.engine.now().Add(in)}})
}

func (r *rig) outcomes() []link.Written {
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	return append([]link.Written(nil), r.engine.written...)
}

func TestWritesPassTheChecksOfTheBridge(t *testing.T) {
	for _, ahead := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} { // clocks need not agree
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 1)
			require.NoError(t, r.o.Tags.DefineTags(tags.Tag{Name: "press.fixed", Driver: "press", Address: "f", DataType: tags.Int}))
			r.engine.do(func() { r.engine.clock = ahead })
			pass(time.Second)
			r.bind()
			pass(time.Minute)
			r.write(1, "t0", intValue(5), time.Second)
			r.write(2, "t0", intValue(2e9), time.Second)
			r.write(3, "t0", tags.StringValue("x"), time.Second)
			r.write(4, "fixed", intValue(5), time.Second)
			r.write(5, "missing", intValue(5), time.Second)
			r.write(6, "t0", intValue(6), time.Second)
			pass(time.Second)
			require.Equal(t, []tags.Value{intValue(5), intValue(6)}, r.device.writes())
			done := r.outcomes()
			require.Len(t, done, 6)
			for i, w := range done {
				require.EqualValues(t, i+1, w.ID, "in the order of the writes")
				if w.ID == 1 || w.ID == 6 {
					require.Equal(t, link.Written{ID: w.ID, Outcome: link.OutcomeDone}, w)
					continue
				}
				require.Equal(t, link.OutcomeFailed, w.Outcome)
				require.NotEmpty(t, w.Error)
			}
			r.device.mu.Lock()
			r.device.fail = tags.ErrUncertain
			r.device.mu.Unlock()
			r.write(7, "t0", intValue(7), time.Second)
			pass(time.Second)
			require.Equal(t, link.OutcomeUncertain, r.outcomes()[6].Outcome)
		})
	}
}

func TestALateWriteIsNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Minute)
		r.write(1, "t0", intValue(1), 0)
		r.write(2, "t0", intValue(2), -time.Millisecond)
		r.write(3, "t0", intValue(3), -time.Hour)
		pass(time.Second)
		require.Empty(t, r.device.writes())
		for _, w := range r.outcomes() {
			require.Equal(t, link.OutcomeFailed, w.Outcome)
		}
		require.Len(t, r.outcomes(), 3)
	})
}

func TestAWriteThatWaitedForASlowDeviceIsNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.device.mu.Lock()
		r.device.slow = 4 * time.Second
		r.device.mu.Unlock()
		r.write(1, "t0", intValue(1), 2*time.Second)
		pass(time.Second)
		r.write(2, "t0", intValue(2), 2*time.Second)
		r.write(3, "t0", intValue(3), 4*time.Second)
		pass(time.Minute)
		require.Equal(t, []tags.Value{intValue(1), intValue(3)}, r.device.writes())
		require.Equal(t, link.OutcomeFailed, r.outcomes()[1].Outcome)
	})
}

// stalledConn is a connection of a process that is stopped: what arrives stays in its socket until it continues.
type stalledConn struct {
	link.BridgeConn
	stop chan chan struct{}
}

func (c *stalledConn) Recv() (link.FromEngine, error) {
	f, err := c.BridgeConn.Recv()
	select {
	case wait := <-c.stop:
		<-wait
	default:
	}
	return f, err
}

func TestAWriteThatWaitedInTheSocketOfAStoppedBridgeIsNotCarriedOut(t *testing.T) {
	for _, stopped := range []time.Duration{20 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, 1)
			stop := make(chan chan struct{}, 1)
			dial := r.engine.dial
			r.o.Dial = func(ctx context.Context, u string, pins []string) (link.BridgeConn, error) {
				c, err := dial(ctx, u, pins)
				return &stalledConn{c, stop}, err
			}
			r.end()
			r.start()
			r.bind()
			pass(35 * time.Second)
			resume := make(chan struct{})
			stop <- resume
			r.write(1, "t0", intValue(1), 5*time.Second)
			time.Sleep(stopped)
			close(resume)
			pass(time.Minute)
			require.Empty(t, r.device.writes())
			r.write(2, "t0", intValue(2), 5*time.Second)
			pass(time.Second)
			require.Equal(t, []tags.Value{intValue(2)}, r.device.writes())
		})
	}
}

func TestAWriteThatWaitedInTheSocketSinceWelcomeIsNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		stop := make(chan chan struct{}, 1)
		dial := r.engine.dial
		r.o.Dial = func(ctx context.Context, u string, pins []string) (link.BridgeConn, error) {
			c, err := dial(ctx, u, pins)
			return &stalledConn{c, stop}, err
		}
		r.end()
		r.start()
		resume := make(chan struct{})
		stop <- resume
		r.bind()
		pass(time.Second)
		r.write(1, "t0", intValue(1), 5*time.Second)
		time.Sleep(8 * time.Second) // less than the deadline of Welcome
		close(resume)
		pass(time.Second)
		require.Empty(t, r.device.writes())
		require.Len(t, r.outcomes(), 1)
	})
}

func TestPointsOfTheDeviceAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		r.bind()
		pass(time.Second)
		r.engine.send(link.FromEngine{Browse: &link.Browse{ID: 3}})
		pass(time.Second)
		require.Equal(t, []link.Browsed{{ID: 3, Tags: []link.ManifestTag{{Name: "new", Address: "n1", DataType: "Float", Access: "ReadOnly"}}}}, r.engine.browsed)

		for _, b := range []tags.Browser{nil, panicking{}} {
			r = newRig(t, 1, func(o *bridge.Options) { o.Browser = b })
			r.bind()
			pass(time.Second)
			r.engine.send(link.FromEngine{Browse: &link.Browse{ID: 4}})
			pass(time.Second)
			require.Len(t, r.engine.browsed, 1)
			require.NotEmpty(t, r.engine.browsed[0].Error)
		}
	})
}

type panicking struct{}

func (panicking) Browse(context.Context) ([]tags.Tag, error) { panic("defect") }

// stuck is a driver that does not end with the context of its calls.
type stuck struct{ end chan struct{} }

func (s stuck) Browse(context.Context) ([]tags.Tag, error) {
	<-s.end
	return nil, errors.New("late")
}

func TestADriverThatIsStuckDoesNotKeepTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver := stuck{make(chan struct{})}
		r := newRig(t, 1, func(o *bridge.Options) { o.Browser = driver })
		defer close(driver.end)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		for i := range 6 {
			r.engine.send(link.FromEngine{Browse: &link.Browse{ID: uint64(i)}})
			pass(time.Second)
			r.engine.cut(link.ErrEnded)
			pass(10 * time.Second)
			require.True(t, r.host.Link().Connected, "the next link is open")
		}
		r.count(1, 10)
		r.engine.send(link.FromEngine{Browse: &link.Browse{ID: 7}})
		pass(time.Second)
		require.Contains(t, r.engine.browsed[len(r.engine.browsed)-1].Error, "has not ended earlier requests", "not more and more of them")
		r.requireCount(10)
	})
}

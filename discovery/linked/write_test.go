package linked

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

func items(names ...string) (list []tags.WriteItem) {
	for i, name := range names {
		list = append(list, tags.WriteItem{Point: tags.Point{Address: name}, Value: tags.IntValue(int64(i))})
	}
	return list
}

// write calls Write of the driver with a timeout and returns the errors of the items.
func (r *rig) write(timeout time.Duration, names ...string) <-chan []error {
	done := make(chan []error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), timeout)
		defer cancel()
		errs := make([]error, len(names))
		if err := r.hub.Driver("press-1").Write(ctx, items(names...), errs); err != nil {
			errs = append(errs, err)
		}
		done <- errs
	}()
	return done
}

func TestWritesGoDownInOrderAndReturnTheirOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, w := r.open()
		done := r.write(5*time.Second, "a", "b", "c", "a")
		outcomes := []link.Written{{Outcome: link.OutcomeDone}, {Outcome: link.OutcomeFailed, Error: "read-only"},
			{Outcome: link.OutcomeUncertain, Error: "timeout"}, {Outcome: "perhaps"}}
		for i, name := range []string{"a", "b", "c", "a"} {
			f, err := p.recv()
			require.NoError(t, err)
			require.Equal(t, name, f.Write.Tag)
			require.Equal(t, tags.IntValue(int64(i)), f.Write.Value)
			require.Equal(t, 4*time.Second, f.Write.Deadline.Sub(w.Time), "time is left for the answer")
			outcomes[i].ID = f.Write.ID
			p.send(link.FromBridge{Written: &outcomes[i]})
			p.send(link.FromBridge{Written: &outcomes[i]}) // a repeated or unknown answer is harmless
		}
		errs := <-done
		require.NoError(t, errs[0])
		require.EqualError(t, errs[1], "read-only")
		require.NotErrorIs(t, errs[1], tags.ErrUncertain)
		require.ErrorIs(t, errs[2], tags.ErrUncertain)
		require.ErrorIs(t, errs[3], tags.ErrUncertain)
		p.close()
	})
}

func TestAWriteWithoutAnAnswerIsUncertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		begin := time.Now()
		done := r.write(5*time.Second, "a", "b")
		f, err := p.recv()
		require.NoError(t, err)
		p.send(link.FromBridge{Written: &link.Written{ID: f.Write.ID, Outcome: link.OutcomeDone}})
		errs := <-done
		require.Equal(t, 5*time.Second, time.Since(begin))
		require.NoError(t, errs[0])
		require.ErrorIs(t, errs[1], tags.ErrUncertain)

		done = r.write(5*time.Second, "a") // the link ends in between
		synctest.Wait()
		p.close()
		errs = <-done
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], tags.ErrUncertain)

		errs = <-r.write(5*time.Second, "a") // there is no link
		require.NotErrorIs(t, errs[0], tags.ErrUncertain)
		require.ErrorIs(t, errs[1], tags.ErrNotConnected)
	})
}

// What has not left the engine when its time is over has certainly failed, and never leaves it.
func TestAWriteThatIsNotSentHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		names := make([]string, 20) // more than fit between the two: the bridge is stopped
		for i := range names {
			names[i] = "a"
		}
		errs := <-r.write(5*time.Second, names...)
		uncertain, failed := 0, 0
		for _, err := range errs {
			if errors.Is(err, tags.ErrUncertain) {
				uncertain++
			} else {
				require.ErrorIs(t, err, errNoTime)
				failed++
			}
		}
		require.Positive(t, failed)
		for range uncertain {
			f, err := p.recv()
			require.NoError(t, err)
			require.NotNil(t, f.Write)
		}
		done := r.write(time.Second, "b")
		f, err := p.recv()
		require.NoError(t, err)
		require.Equal(t, "b", f.Write.Tag)
		<-done

		errs = <-r.write(time.Second, make([]string, maxRequests+1)...)
		require.ErrorIs(t, errs[0], errNoRoom)
		p.close()
	})
}

func TestBrowse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		_, err := r.hub.Browse(t.Context(), "press-1")
		require.ErrorIs(t, err, tags.ErrNotConnected)
		p, _ := r.open()
		answers := []link.Browsed{{Tags: []link.ManifestTag{{Name: "a", Address: "40001", DataType: "Int", Access: "ReadWrite"}, {Name: "b", DataType: "Bool"}}}, {Error: "not supported"}}
		go func() {
			for _, answer := range answers {
				f, err := p.recv()
				if err != nil {
					return
				}
				answer.ID = f.Browse.ID
				_ = p.conn.Send(link.FromBridge{Browsed: &answer})
			}
		}()
		list, err := r.hub.Driver("press-1").(tags.Browser).Browse(t.Context())
		require.NoError(t, err)
		require.Equal(t, []tags.Tag{{Name: "a", Address: "a", DataType: tags.Int, Access: tags.ReadWrite}, {Name: "b", Address: "b", DataType: tags.Bool, Access: tags.ReadOnly}}, list)
		_, err = r.hub.Browse(t.Context(), "press-1")
		require.ErrorContains(t, err, "not supported")

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.hub.Browse(ctx, "press-1")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		p.close()
	})
}

// How the engines are reached is told on open links. With less silence, pings come more often.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		p, _ := r.open()
		reach := link.Reach{Pins: []string{"sha256/x"}, URLs: []string{"http://b:5001"}, Silence: 4 * time.Second}
		r.hub.SetReach(reach)
		f, err := p.recv()
		require.NoError(t, err)
		require.Equal(t, reach, *f.Reach)
		pings := func() (n int) {
			for end := time.Now().Add(time.Minute); time.Now().Before(end); n++ {
				f, err := p.conn.Recv()
				require.NoError(t, err)
				require.NotNil(t, f.Ping)
				p.send(link.FromBridge{Pong: &link.Pong{Time: f.Ping.Time}})
			}
			return n
		}
		require.InDelta(t, 60, pings(), 2)
		r.hub.SetReach(link.Reach{})
		_, err = p.recv()
		require.NoError(t, err)
		require.InDelta(t, 6, pings(), 2)
		p.close()
		r.store.reach = reach
		p, w := r.open()
		require.Equal(t, reach, w.Reach)
		require.InDelta(t, 60, pings(), 2)
		p.close()
	})
}

func TestConnectWaitsForTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, newStore())
		defer r.close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, r.hub.Driver("press-1").Connect(ctx), tags.ErrNotConnected)
		connected := make(chan error, 1)
		go func() { connected <- r.hub.Driver("press-1").Connect(t.Context()) }()
		p, _ := r.open()
		require.NoError(t, <-connected)
		p.close()
	})
}

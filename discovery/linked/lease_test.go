package linked

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// held is a lease of a test.
type held struct {
	valid       atomic.Bool
	done, ended chan struct{}
}

func hold(m *store, epoch uint64) *held {
	h := &held{done: make(chan struct{}), ended: make(chan struct{})}
	h.valid.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lease = &Lease{Epoch: epoch, Valid: h.valid.Load, Done: h.done, Ended: h.ended}
	return h
}

// ends waits until the engine has ended the link, and returns how long that took.
func (p *peer) ends() time.Duration {
	p.t.Helper()
	began := time.Now()
	require.ErrorIs(p.t, <-p.ended, link.ErrEnded)
	took := time.Since(began)
	require.NoError(p.t, p.conn.Close())
	return took
}

// A lease that is lost ends the link at once, and nothing is stored or acknowledged any more.
func TestALostLeaseEndsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		r.attach("a", "b", "c")
		lease := hold(m, 1)
		p, _ := r.open()
		p.send(batch(1, "a=1", 0))
		p.acked(1)

		lease.valid.Store(false) // nobody has said so yet
		p.send(batch(2, "a=2", 0))
		time.Sleep(time.Second)
		require.Equal(t, map[string]uint64{"epoch-1": 1}, m.positions)
		require.Zero(t, p.ends(), "it has found out by itself")
		require.NotContains(t, m.noted(), "stored a=2")
		for {
			f, err := p.recv()
			if err != nil {
				break
			}
			require.Nil(t, f.Ack)
		}

		lease = hold(m, 3)
		p, w := r.open()
		require.EqualValues(t, 1, w.Position)
		p.send(batch(2, "a=2", 0))
		p.acked(2)
		lease.valid.Store(false)
		close(lease.done)
		require.Zero(t, p.ends())
		require.NotContains(t, r.log.String(), "failed to store")
	})
}

// Between the samples and their position another engine may have taken over.
func TestALeaseThatIsLostBeforeThePosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		r.attach("a", "b", "c")
		lease := hold(m, 1)
		r.unsettled = errors.New("alarms wait")
		p, _ := r.open()
		p.send(batch(1, "a=1 a=2", 0))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"open true", "stored a=1", "stored a=2"}, m.noted())
		lease.valid.Store(false)
		close(lease.done)
		p.ends()
		synctest.Wait()
		require.Empty(t, m.positions)

		// Another engine stores one of them, and the link comes back: what was stored here counts no more, since its alarms were left to the other engine.
		m.mu.Lock()
		m.positions["epoch-1"], m.journal = 1, nil
		m.mu.Unlock()
		r.unsettled = nil
		hold(m, 3)
		p, w := r.open()
		require.EqualValues(t, 1, w.Position)
		p.send(batch(2, "a=2", 0))
		p.acked(2)
		require.Equal(t, []string{"open true", "stored a=2"}, m.noted())
		p.close()
	})
}

// When the lease moves, the link stays open until the driver has ended: writes that wait are still sent.
func TestALeaseThatMovesEndsTheLinkAfterTheDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		r.attach("a", "b", "c")
		lease := hold(m, 1)
		p, _ := r.open()
		close(lease.done)
		written := make(chan error, 1)
		go func() {
			errs := make([]error, 1)
			written <- errors.Join(r.hub.Driver("press-1").Write(context.Background(), []tags.WriteItem{{Point: tags.Point{Address: "a"}, Value: tags.IntValue(5)}}, errs), errs[0])
		}()
		f, err := p.recv()
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		p.send(link.FromBridge{Written: &link.Written{ID: f.Write.ID, Outcome: link.OutcomeDone}})
		require.NoError(t, <-written)
		p.send(batch(1, "a=1", 0))
		p.acked(1)
		go func() {
			time.Sleep(time.Second)
			close(lease.ended)
		}()
		require.LessOrEqual(t, p.ends(), time.Second)

		lease = hold(m, 3)
		p, _ = r.open()
		close(lease.done)
		time.Sleep(2 * time.Second)
		lease.valid.Store(false) // it was not ended in time
		require.LessOrEqual(t, p.ends(), 100*time.Millisecond)
	})
}

// A write that was sent when the lease was lost may have been carried out.
func TestWritesOfALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		lease := hold(m, 1)
		p, _ := r.open()
		written := make(chan error, 1)
		go func() {
			errs := make([]error, 1)
			_ = r.hub.Driver("press-1").Write(context.Background(), []tags.WriteItem{{Point: tags.Point{Address: "a"}, Value: tags.IntValue(5)}}, errs)
			written <- errs[0]
		}()
		_, err := p.recv()
		require.NoError(t, err)
		lease.valid.Store(false)
		close(lease.done)
		require.ErrorIs(t, <-written, tags.ErrUncertain)
		p.ends()
	})
}

// A link that belongs to another engine is no fault of the bridge.
func TestALinkOfAnotherEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newStore()
		r := newRig(t, m)
		defer r.close()
		m.setFail(link.Elsewhere("engine-2", "http://b:5001"))
		p := r.dial()
		p.hello(link.Hello{Key: "key-1"})
		err := <-p.ended
		require.ErrorIs(t, err, link.ErrElsewhere)
		engine, url := link.SentTo(err)
		require.Equal(t, "engine-2 http://b:5001", engine+" "+url)
		require.Empty(t, m.noted())
		require.NotContains(t, r.log.String(), "ERROR")
		require.NoError(t, p.conn.Close())
	})
}

package cluster_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

// heldBy returns the lease under which an engine does a work.
func (p *plant) heldBy(engine string) *cluster.Held {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.doing {
		for _, h := range all {
			if h.engine == engine {
				return h.lease
			}
		}
	}
	p.t.Fatalf("engine %s does nothing", engine)
	return nil
}

// What is asked late, after the work has ended, is told that another engine may have the lease.
func TestALeaseDoesNotOutliveItsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 1)
		a := p.join("a")
		p.until(time.Second, "a")
		lease := p.heldBy("a")
		b := p.join("b")
		a.Drain(true)
		p.until(5*time.Second, "b")
		require.False(t, lease.Valid(), "it was given away")

		lease = p.heldBy("b")
		b.link.cut.Store(true)
		p.pass(10 * time.Second)
		require.False(t, lease.Valid(), "it was lost")
		b.link.cut.Store(false)
		a.Drain(false)
		p.pass(20 * time.Second)
		require.False(t, lease.Valid(), "that of a session that is over stays so")
		p.close()
	})
}

func TestAloneWorkGoesOnWhileACommitHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 3)
		a := p.join("a")
		p.until(time.Second, "a")
		lease := p.heldBy("a")
		a.link.hang.Store(true)
		for range 1500 {
			p.pass(10 * time.Millisecond)
			require.True(t, lease.Valid(), "nobody can have taken it over")
		}
		a.link.hang.Store(false)
		p.pass(5 * time.Second)
		require.True(t, lease.Valid())
		p.close()
	})
}

// Engines on a slow database see nevertheless which of them is silent.
func TestASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 6)
		a := p.join("a")
		b := p.join("b")
		p.pass(20 * time.Second)
		require.Equal(t, map[string]int{"a": 3, "b": 3}, p.count())
		a.link.slow.Store(int64(800 * time.Millisecond))
		b.link.cut.Store(true)
		p.until(12*time.Second, "a")
		a.link.slow.Store(0)
		p.close()
	})
}

// Ending the session of a lost engine may take longer than a call may. What an engine does itself goes on meanwhile.
func TestOwnWorkGoesOnWhileALossCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 6)
		a, b := p.join("a"), p.join("b")
		p.pass(20 * time.Second)
		require.Equal(t, map[string]int{"a": 3, "b": 3}, p.count())
		a.link.slow.Store(int64(500 * time.Millisecond))
		a.link.noLoss.Store(true)
		b.link.cut.Store(true)
		p.pass(5 * time.Second)
		for range 2000 {
			time.Sleep(10 * time.Millisecond)
			require.Equal(t, map[string]int{"a": 3}, p.count())
		}
		a.link.noLoss.Store(false)
		p.until(12*time.Second, "a")
		a.link.slow.Store(0)
		p.close()
	})
}

// An engine that is stopped while the store is away has the time that it is given to end its work.
func TestCloseWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 0)
		p.works = []cluster.Work{{Name: "driver/1"}}
		causes := make(chan error, 1)
		a := p.join("a", func(o *cluster.Options) {
			do := o.Do
			o.Do = func(ctx context.Context, lease *cluster.Held) error {
				err := do(ctx, lease)
				causes <- context.Cause(ctx)
				require.True(t, lease.Valid(), "what is queued may be sent")
				return err
			}
		})
		p.until(time.Second, "a")
		a.slow.Store(int64(2 * time.Second))
		a.link.refuse.Store(true)
		p.pass(10 * time.Second)
		began := time.Now()
		require.NoError(t, a.Close(t.Context()))
		require.Less(t, time.Since(began), 4*time.Second)
		require.Equal(t, cluster.ErrMoved, <-causes)
		a.link.refuse.Store(false)
		state, err := p.store.State(t.Context())
		require.NoError(t, err)
		_, err = p.store.End(t.Context(), state.Sessions[0].ID, state.Sessions[0].Beat)
		require.NoError(t, err)
		p.close()
	})
}

// Whether there are others decides what an engine may do to what they share, so it is known before Join returns.
func TestTheOthersAreKnownFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 1)
		p.join("a")
		require.Len(t, p.join("b").View().Sessions, 2)
		p.close()
	})
}

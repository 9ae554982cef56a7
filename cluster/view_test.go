package cluster_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

func TestAViewSaysWhoIsSilentSinceWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 2)
		a, b := p.join("a"), p.join("b")
		p.pass(10 * time.Second)
		view := a.View()
		other, found := view.Session(b.View().Self)
		require.True(t, found)
		require.Equal(t, "b", other.Engine)
		require.Less(t, time.Since(view.Seen[other.ID]), 2*time.Second)
		require.Less(t, time.Since(view.Renewed), 2*time.Second)

		b.link.cut.Store(true)
		p.pass(2 * time.Second)
		view = a.View()
		require.Greater(t, time.Since(view.Seen[other.ID]), time.Second)
		require.Less(t, time.Since(view.Renewed), 2*time.Second)
		require.Greater(t, time.Since(b.View().Renewed), time.Second)
		p.pass(2 * time.Second)
		view = a.View()
		require.NotContains(t, view.Seen, other.ID, "its session is ended")
		_, found = view.Session(other.ID)
		require.False(t, found)
		b.link.cut.Store(false)
		p.close()
	})
}

func TestAViewSaysWhatNoEngineDoesAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 4)
		p.works[1].Requires = map[string]string{"hall": "north", "floor": "1"}
		p.works[2].Requires = map[string]string{cluster.LabelEngine: "b"}
		a := p.join("a", func(o *cluster.Options) { o.Labels = map[string]string{"hall": "north"} })
		p.works[3].Cannot = "no such type"
		a.SetWork(p.works)
		p.pass(5 * time.Second)
		view := a.View()
		lease, held := view.Lease("driver/00")
		require.True(t, held)
		require.Equal(t, view.Self, lease.Session)

		self, _ := view.Session(view.Self)
		reasons := map[string]string{}
		for _, w := range view.Unassigned(p.works) {
			reasons[w.Name] = w.Hindrance(self)
		}
		require.Equal(t, map[string]string{
			"driver/01": "it does not have the label floor=1",
			"driver/02": "it is not the engine b",
			"driver/03": "no such type",
		}, reasons)

		a.Drain(true)
		p.pass(5 * time.Second)
		view = a.View()
		require.Len(t, view.Unassigned(p.works), 4)
		self, _ = view.Session(view.Self)
		require.Equal(t, "it is drained", p.works[0].Hindrance(self))
		p.close()
	})
}

// lost returns the engines that are lost as a member knows them.
func lost(e *engine) (engines []string) {
	for _, l := range e.View().Lost {
		engines = append(engines, l.Engine)
	}
	return engines
}

// kill ends an engine as kill -9 does: it says nothing.
func (e *engine) kill(t *testing.T) {
	e.link.cut.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.Close(ctx))
}

func TestAViewNamesEnginesThatAreLostUntilThatIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b, c := p.join("a"), p.join("b"), p.join("c", func(o *cluster.Options) { o.Name, o.Host = "three", "press-hall" })
		p.pass(20 * time.Second)
		require.Empty(t, lost(a))

		c.link.cut.Store(true)
		p.pass(1500 * time.Millisecond)
		require.Empty(t, lost(a), "silent, and not given up")
		before := time.Now()
		p.pass(2500 * time.Millisecond)
		require.Equal(t, []string{"c"}, lost(a))
		require.Equal(t, []string{"c"}, lost(b), "whichever of them has ended its session")
		l := a.View().Lost[0]
		require.Equal(t, "three", l.Name)
		require.Equal(t, "press-hall", l.Host)
		require.WithinRange(t, l.At, before, time.Now())

		c.link.cut.Store(false)
		p.pass(5 * time.Second)
		view := a.View()
		_, found := view.Session(c.View().Self)
		require.True(t, found, "it is back")
		require.Equal(t, []string{"c"}, lost(a))
		started := p.join("d")
		require.Equal(t, []string{"c"}, lost(started))
		require.NoError(t, started.Forget(t.Context(), l.ID))
		p.pass(time.Second)
		for _, e := range []*engine{a, b, c, started} {
			require.Empty(t, lost(e))
		}
		p.close()
	})
}

func TestAnEngineThatLeavesIsNotLost(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name          string
		leaves, looks time.Duration // how long a call of the store takes for the one that leaves, and for the one that looks
		work          time.Duration // how long its work takes to end
		hangs         time.Duration // how long the store hangs for the one that leaves, before it does
		blind         time.Duration // how long it hangs for the one that looks, while the other one leaves
	}{
		{name: "fast"},
		{name: "slow to end work", work: 10_000 * ms},
		{name: "slow to leave and to end work", leaves: 200 * ms, work: 10_000 * ms},
		{name: "both are very slow", leaves: 700 * ms, looks: 700 * ms},
		{name: "slow to look", looks: 1100 * ms},
		{name: "after a pause", hangs: 1500 * ms},
		{name: "while nobody looks", blind: 10_000 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, 12)
				a, b := p.join("a"), p.join("b")
				p.pass(20 * time.Second)
				a.link.slow.Store(int64(c.looks))
				b.link.slow.Store(int64(c.leaves))
				p.pass(10 * time.Second)
				b.slow.Store(int64(c.work))
				b.link.hang.Store(c.hangs > 0)
				p.pass(c.hangs)
				b.link.hang.Store(false)
				a.link.hang.Store(c.blind > 0)
				require.NoError(t, b.Close(t.Context()))
				p.pass(c.blind)
				a.link.hang.Store(false)
				for range 20 {
					p.pass(500 * ms)
					require.Empty(t, lost(a))
				}
				a.link.slow.Store(0)
				p.close()
			})
		})
	}
}

func TestAnEngineThatIsBackAtOnceWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b, c := p.join("a"), p.join("b"), p.join("c")
		p.pass(20 * time.Second)
		session := c.View().Self
		c.kill(t)
		again := p.join("c") // it waits until its earlier session has ended
		p.pass(time.Second)
		for _, e := range []*engine{a, b, again} {
			require.Equal(t, []string{"c"}, lost(e))
			require.Equal(t, session, e.View().Lost[0].ID)
		}
		p.close()
	})
}

func TestAnEngineThatIsAloneMissesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a := p.join("a")
		p.pass(20 * time.Second)
		a.kill(t)
		a = p.join("a")
		p.pass(10 * time.Second)
		require.Empty(t, lost(a))
		p.close()
	})
}

// When all were killed, the first one that is started misses the others.
func TestEnginesThatAreKilledTogetherAreLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b, c := p.join("a"), p.join("b"), p.join("c")
		p.pass(20 * time.Second)
		for _, e := range []*engine{a, b, c} {
			e.kill(t)
		}
		p.pass(time.Minute)
		a = p.join("a")
		p.pass(10 * time.Second)
		p.join("b")
		p.join("c")
		require.ElementsMatch(t, []string{"a", "b", "c"}, lost(a))
		p.close()
	})
}

// While the store was away, everybody was silent, however long that took and whoever has it back first.
func TestNobodyIsLostBecauseTheStoreWasAway(t *testing.T) {
	away := map[string]func(*link) *atomic.Bool{
		"hangs":   func(l *link) *atomic.Bool { return &l.hang },
		"stalls":  func(l *link) *atomic.Bool { return &l.stall },
		"refuses": func(l *link) *atomic.Bool { return &l.refuse },
	}
	for how, flag := range away {
		t.Run(how, func(t *testing.T) {
			for seed := range uint64(30) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 7))
					p := newPlant(t, 9)
					engines := p.joinApart(r, "a", "b", "c")
					outage := time.Duration(1000+100*seed) * time.Millisecond
					for _, e := range engines {
						flag(e.link).Store(true)
					}
					p.pass(outage)
					for _, i := range r.Perm(len(engines)) {
						flag(engines[i].link).Store(false)
						p.pass(time.Duration(r.IntN(200)) * time.Millisecond)
					}
					p.pass(10 * time.Second)
					require.Empty(t, lost(engines[0]), "%s, seed %d", outage, seed)
					p.close()
				})
			}
		})
	}
}

// The same holds if the store goes away when an engine gives its work to the others.
func TestNobodyIsLostBecauseTheStoreWentAwayWhileWorkMoved(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			p := newPlant(t, 9)
			engines := p.joinApart(r, "a", "b", "c")
			for _, e := range engines {
				e.link.slow.Store(int64(40 * time.Millisecond))
			}
			engines[1].Drain(true)
			p.pass(time.Duration(50+r.IntN(150)) * time.Millisecond)
			outage := time.Duration(2000+100*(seed%15)) * time.Millisecond
			for _, e := range engines {
				e.link.stall.Store(true)
			}
			p.pass(outage)
			for _, i := range r.Perm(len(engines)) {
				engines[i].link.stall.Store(false)
				p.pass(time.Duration(r.IntN(200)) * time.Millisecond)
			}
			p.pass(10 * time.Second)
			require.Empty(t, lost(engines[0]), "%s, seed %d", outage, seed)
			p.close()
		})
	}
}

// Time without the store is left out of the silence of the others, but not without an end if it comes again and again.
func TestALossIsFoundByAnEngineWithABadLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b := p.join("a"), p.join("b")
		p.pass(20 * time.Second)
		b.link.cut.Store(true)
		for range 12 {
			a.link.cut.Store(true)
			p.pass(2200 * time.Millisecond)
			a.link.cut.Store(false)
			p.pass(800 * time.Millisecond)
		}
		require.Equal(t, []string{"b"}, lost(a))
		p.until(4*time.Second, "a")
		p.close()
	})
}

// Who is lost while the store is away is found when it is back, once the others have had the time to renew their sessions.
func TestALossWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for off := range 30 {
			p := newPlant(t, 9)
			a, b, c := p.join("a"), p.join("b"), p.join("c")
			p.pass(20*time.Second + time.Duration(off)*37*time.Millisecond)
			for _, e := range []*engine{a, b, c} {
				e.link.stall.Store(true)
			}
			p.pass(time.Duration(100*off) * time.Millisecond)
			b.link.cut.Store(true)
			p.pass(500 * time.Millisecond)
			for _, e := range []*engine{a, b, c} {
				e.link.stall.Store(false)
			}
			p.until(4*time.Second, "a", "c")
			require.Equal(t, []string{"b"}, lost(a))
			b.link.cut.Store(false)
			p.close()
		}
	})
}

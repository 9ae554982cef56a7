package cluster_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

func TestOneEngineDoesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 20)
		a := p.join("a")
		require.Less(t, p.until(time.Second, "a"), 200*time.Millisecond)
		p.works = p.works[:5]
		a.SetWork(p.works)
		p.pass(time.Second)
		require.Equal(t, map[string]int{"a": 5}, p.count(), "work that is no more ends")
		p.close()
	})
}

func TestEnginesShareAndMoveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 30)
		p.join("a")
		p.until(time.Second, "a")
		p.join("b")
		c := p.join("c")
		p.pass(5 * time.Second)
		require.Equal(t, map[string]int{"a": 30}, p.count(), "nothing moves before the engines have settled")
		p.pass(15 * time.Second)
		require.Equal(t, map[string]int{"a": 10, "b": 10, "c": 10}, p.count())

		c.Drain(true)
		p.pass(3 * time.Second)
		require.Equal(t, map[string]int{"a": 15, "b": 15}, p.count())
		view := c.View()
		k := slices.IndexFunc(view.Sessions, func(s cluster.Session) bool { return s.Engine == "c" })
		require.True(t, view.Sessions[k].Draining)
		c.Drain(false)
		p.pass(20 * time.Second)
		require.Equal(t, map[string]int{"a": 10, "b": 10, "c": 10}, p.count())
		p.close()
	})
}

// An engine that hears nothing of the store, as one that was killed or cut off, is replaced within 4 s.
func TestSilentEnginesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, offset := range []time.Duration{0, 100 * time.Millisecond, 510 * time.Millisecond, 990 * time.Millisecond} {
			p := newPlant(t, 12)
			p.join("a")
			p.join("b")
			b := p.engines["b"]
			p.until(20*time.Second, "a", "b")
			p.pass(20*time.Second + offset)
			require.Equal(t, map[string]int{"a": 6, "b": 6}, p.count())
			b.link.cut.Store(true)
			require.Less(t, p.until(5*time.Second, "a"), 3500*time.Millisecond)
			p.pass(10 * time.Second)
			b.link.cut.Store(false)
			p.pass(30 * time.Second)
			require.Equal(t, map[string]int{"a": 6, "b": 6}, p.count(), "it comes back")
			p.close()
		}
	})
}

func TestWithoutTheStoreWorkStopsAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 10)
		p.join("a")
		p.join("b")
		p.pass(20 * time.Second)
		before := p.owners()
		for _, e := range p.engines {
			e.link.refuse.Store(true)
		}
		p.pass(1500 * time.Millisecond)
		require.Equal(t, before, p.owners(), "a short absence is not noticed")
		p.pass(1500 * time.Millisecond)
		require.Empty(t, p.owners())
		require.ErrorContains(t, p.engines["a"].View().Err, "away")
		p.pass(time.Minute)
		for _, e := range p.engines {
			e.link.refuse.Store(false)
		}
		p.pass(2 * time.Second)
		require.Equal(t, before, p.owners(), "nobody took over from the others")
		require.NoError(t, p.engines["a"].View().Err)
		p.close()
	})
}

// An engine that is alone goes on without the store. One that comes meanwhile, when the store is back, waits for it.
func TestAloneWorkGoesOnWithoutTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, hang := range []bool{false, true} {
			p := newPlant(t, 10)
			a := p.join("a")
			p.pass(time.Second)
			require.Equal(t, map[string]int{"a": 10}, p.count())
			a.link.refuse.Store(!hang)
			a.link.cut.Store(hang)
			for range 100 {
				p.pass(100 * time.Millisecond)
				require.Equal(t, map[string]int{"a": 10}, p.count())
			}
			a.link.refuse.Store(false)
			a.link.cut.Store(false)
			p.join("b")
			for range 50 {
				p.pass(100 * time.Millisecond)
				require.Equal(t, map[string]int{"a": 10}, p.count(), "its session goes on")
			}
			p.pass(20 * time.Second)
			require.Equal(t, map[string]int{"a": 5, "b": 5}, p.count())
			a.link.cut.Store(true)
			require.Less(t, p.until(5*time.Second, "b"), 3500*time.Millisecond, "it is not alone any more")
			p.pass(10 * time.Second)
			p.close()
		}
	})
}

// An engine that was alone and is replaced while it cannot see it gives up as soon as it can.
func TestAloneWorkThatWasTakenOverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 4)
		a := p.join("a")
		p.pass(time.Second)
		a.link.cut.Store(true)
		b := &engine{link: &link{Store: p.store}}
		b.Member = must(cluster.Join(t.Context(), cluster.Options{Store: b.link, Engine: "b", Do: func(ctx context.Context, _ *cluster.Held) error {
			<-ctx.Done()
			return nil
		}}))
		b.SetWork(p.works)
		p.pass(10 * time.Second)
		require.Equal(t, map[string]int{"a": 4}, p.count(), "it does not know")
		a.link.cut.Store(false)
		p.pass(2500 * time.Millisecond) // the call that hangs ends first
		require.Empty(t, p.count())
		require.NoError(t, b.Close(t.Context()))
		p.pass(2 * time.Second)
		require.Equal(t, map[string]int{"a": 4}, p.count())
		p.close()
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// An engine whose answers are lost does not know what the store took.
func TestLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 10)
		a := p.join("a")
		p.join("b")
		p.pass(20 * time.Second)
		a.link.lose.Store(true)
		p.pass(time.Minute) // its session is renewed, so that nobody takes over; but it does not know
		a.link.lose.Store(false)
		p.pass(20 * time.Second)
		require.Equal(t, map[string]int{"a": 5, "b": 5}, p.count())
		p.close()
	})
}

// What an engine knows that it cannot do, it is never given.
func TestWorkThatAnEngineIsKnownNotToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 10)
		a := p.join("a")
		p.join("b")
		works := slices.Clone(p.works)
		for i := range works {
			works[i].Cannot = "no such driver type"
		}
		a.SetWork(works)
		p.pass(time.Minute)
		require.Equal(t, map[string]int{"b": 10}, p.count())
		k := slices.IndexFunc(a.View().Sessions, func(s cluster.Session) bool { return s.Engine == "a" })
		require.Equal(t, "no such driver type", a.View().Sessions[k].Unable["driver/03"])
		a.SetWork(p.works)
		p.pass(time.Minute)
		require.Equal(t, map[string]int{"a": 5, "b": 5}, p.count())
		p.works[0].Requires = map[string]string{cluster.LabelEngine: "b"}
		p.works[1].Requires = map[string]string{cluster.LabelEngine: "a"}
		for _, e := range p.engines {
			e.SetWork(p.works)
		}
		p.pass(time.Minute)
		require.Equal(t, []string{"b", "a"}, []string{p.owners()["driver/00"], p.owners()["driver/01"]})
		p.close()
	})
}

func TestWorkThatAnEngineCannotDoGoesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 6)
		fault := errors.New("driver type S7 is not known")
		a := p.join("a")
		a.unable.Store(&fault)
		p.pass(2 * time.Second)
		require.Empty(t, p.owners())
		view := a.View()
		require.Equal(t, fault.Error(), view.Sessions[0].Unable["driver/03"])
		p.join("b")
		require.Less(t, p.until(5*time.Second, "b"), 3*time.Second)
		a.unable.Store(nil)
		p.pass(time.Minute)
		require.Equal(t, map[string]int{"a": 3, "b": 3}, p.count(), "it is tried again")
		p.close()
	})
}

func TestWorkMovesOnlyWhenItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 4)
		a := p.join("a")
		p.join("b")
		p.pass(20 * time.Second)
		a.slow.Store(int64(7 * time.Second))
		a.Drain(true)
		p.pass(6 * time.Second)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, p.count(), "it has the time that it needs to finish")
		p.pass(3 * time.Second)
		require.Equal(t, map[string]int{"b": 4}, p.count())
		p.close()
	})
}

// Work that does not end when its lease is lost must not keep the others from it.
func TestWorkThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 4)
		a := p.join("a")
		p.join("b")
		p.pass(20 * time.Second)
		a.slow.Store(int64(time.Hour))
		a.link.cut.Store(true)
		require.Less(t, p.until(5*time.Second, "b"), 4*time.Second)
		a.link.cut.Store(false)
		p.pass(2 * time.Minute)
		require.Len(t, p.owners(), 4)
		a.slow.Store(0)
		p.pass(2 * time.Hour)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, p.count())
		p.close()
	})
}

func TestWorkGoesToAnEngineThatAsksForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 4)
		a := p.join("a")
		p.until(time.Second, "a")
		b := p.join("b")
		p.pass(time.Second)
		b.Want("driver/02", true)
		p.pass(time.Second)
		require.Equal(t, "b", p.owners()["driver/02"])
		require.Equal(t, map[string]int{"a": 3, "b": 1}, p.count())
		b.Want("driver/01", true)
		b.Want("driver/03", true)
		p.pass(time.Minute)
		require.Equal(t, map[string]int{"a": 1, "b": 3}, p.count(), "what was asked for stays")
		a.Want("driver/02", true)
		p.pass(time.Second)
		require.Equal(t, "a", p.owners()["driver/02"], "who asks last")
		a.Want("driver/02", false)
		for _, work := range []string{"driver/01", "driver/02", "driver/03"} {
			b.Want(work, false)
		}
		p.pass(time.Minute)
		require.Equal(t, map[string]int{"a": 2, "b": 2}, p.count())
		p.close()
	})
}

func TestCloseGivesEverythingAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a := p.join("a")
		p.join("b")
		p.pass(20 * time.Second)
		require.NoError(t, a.Close(t.Context()))
		require.NoError(t, a.Close(t.Context()), "again")
		require.Less(t, p.until(5*time.Second, "b"), 1500*time.Millisecond, "nobody waits for the TTL")
		p.close()
	})
}

func TestCloseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 2)
		a := p.join("a")
		p.until(time.Second, "a")
		a.slow.Store(int64(time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, a.Close(ctx), context.DeadlineExceeded)
		synctest.Wait()
		require.Empty(t, p.owners(), "it may not go on")
		time.Sleep(2 * time.Minute)
		delete(p.engines, "a")
		p.close()
	})
}

func TestTwoEnginesOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 2)
		a := p.join("a")
		p.join("b")
		p.until(time.Second, "a", "b")
		_, err := cluster.Join(t.Context(), cluster.Options{Store: p.store, Engine: "a", Do: func(context.Context, *cluster.Held) error { return nil }})
		require.ErrorIs(t, err, cluster.ErrDuplicate)

		a.link.cut.Store(true) // as if it was killed
		start := time.Now()
		again := p.join("a")
		require.InDelta(t, 3, time.Since(start).Seconds(), 1, "one that was killed is replaced by itself")
		p.until(time.Second, "a", "b")
		a.link.cut.Store(false)
		p.pass(10 * time.Second)
		require.NotEmpty(t, again.View().Self)
		require.NoError(t, a.Close(t.Context()))
		p.close()
	})
}

// Engines are cut off, drained, closed and started at random. Never do two hold a lease at once, and in the end all is done again.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			p := newPlant(t, 15)
			names := []string{"a", "b", "c", "d"}
			for _, name := range names {
				p.join(name)
			}
			p.pass(time.Second) // an engine that has not seen another one yet keeps its work without the store
			for range 60 {
				e := p.engines[names[r.IntN(len(names))]]
				switch r.IntN(8) {
				case 0:
					e.link.cut.Store(true)
				case 1:
					e.link.refuse.Store(true)
				case 2:
					e.link.lose.Store(true)
				case 3:
					e.Drain(r.IntN(2) == 0)
				case 4:
					e.slow.Store(int64(time.Duration(r.IntN(5000)) * time.Millisecond))
				case 5:
					e.Wake()
				default:
					e.link.cut.Store(false)
					e.link.refuse.Store(false)
					e.link.lose.Store(false)
				}
				p.pass(time.Duration(r.IntN(4000)) * time.Millisecond)
			}
			for _, e := range p.engines {
				e.link.cut.Store(false)
				e.link.refuse.Store(false)
				e.link.lose.Store(false)
				e.Drain(false)
				e.slow.Store(0)
			}
			p.pass(2 * time.Minute)
			require.Len(t, p.owners(), 15, "seed %d", seed)
			for name, n := range p.count() {
				require.InDelta(t, 4, n, 1, "seed %d: %s", seed, name)
			}
			p.close()
		})
	}
}

func TestOptions(t *testing.T) {
	do := func(context.Context, *cluster.Held) error { return nil }
	for text, o := range map[string]cluster.Options{
		"Options.Store is required":               {Engine: "a", Do: do},
		"Options.Engine is required":              {Store: cluster.NewMemory(), Do: do},
		"Options.Do is required":                  {Store: cluster.NewMemory(), Engine: "a"},
		"Options.TTL must be at least 300 ms":     {Store: cluster.NewMemory(), Engine: "a", Do: do, TTL: time.Millisecond},
		"Options.RetryAfter must not be negative": {Store: cluster.NewMemory(), Engine: "a", Do: do, RetryAfter: -1},
		"Options.Settle must not be negative":     {Store: cluster.NewMemory(), Engine: "a", Do: do, Settle: -1},
	} {
		_, err := cluster.Join(t.Context(), o)
		require.ErrorContains(t, err, text)
	}
}

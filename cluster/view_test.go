package cluster_test

import (
	"fmt"
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

// lost returns the engines that a member misses.
func lost(e *engine) (engines []string) {
	for _, l := range e.View().Lost {
		engines = append(engines, l.Engine)
	}
	return engines
}

func TestAViewNamesEnginesThatAreLostUntilTheyAreBack(t *testing.T) {
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
		require.Equal(t, "three", a.View().Lost[0].Name)
		require.Equal(t, "press-hall", a.View().Lost[0].Host)
		require.WithinRange(t, a.View().Lost[0].At, before, time.Now())
		require.Empty(t, lost(c))

		c.link.cut.Store(false)
		p.pass(5 * time.Second)
		require.Empty(t, lost(a), "it is back")
		require.Empty(t, lost(b))
		require.Empty(t, lost(c), "nobody else was lost")
		p.close()
	})
}

func TestAnEngineThatLeavesIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b, c := p.join("a"), p.join("b"), p.join("c")
		b.link.slow.Store(int64(200 * time.Millisecond)) // a database under load
		p.pass(20 * time.Second)
		b.slow.Store(int64(10 * time.Second)) // its work takes long to end
		for _, e := range []*engine{b, c} {
			require.NoError(t, e.Close(t.Context()))
			p.pass(5 * time.Second)
			require.Empty(t, lost(a))
		}
		p.close()
	})
}

// Whoever was without the store does not know who else was.
func TestAnEngineThatWasCutOffMissesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 9)
		a, b := p.join("a"), p.join("b")
		p.pass(20 * time.Second)
		a.link.cut.Store(true)
		p.pass(10 * time.Second)
		require.Equal(t, []string{"a"}, lost(b))
		require.NoError(t, b.Close(t.Context()))
		a.link.cut.Store(false)
		p.pass(10 * time.Second)
		require.Empty(t, lost(a))
		p.close()
	})
}

func TestAMemberRemembersAHundredLostEngines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, 0)
		a := p.join("a")
		for i := range cluster.MaxLost + 5 {
			e := p.join(fmt.Sprintf("e%03d", i))
			p.pass(time.Second)
			e.link.cut.Store(true)
		}
		p.pass(10 * time.Second)
		names := lost(a)
		require.Len(t, names, cluster.MaxLost)
		require.NotContains(t, names, "e000")
		require.Contains(t, names, "e104")
		p.close()
	})
}

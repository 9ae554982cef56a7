package cluster_test

import (
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

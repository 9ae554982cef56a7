package tags_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// Readings and the sweeper report the same tags at the same time. Whatever the order in which the
// changes arrive, by Seq they are the steps that the tag took.
func TestSeqOrdersChanges(t *testing.T) {
	e := newEngine(t, tags.Options{SweepInterval: time.Millisecond})
	var mu sync.Mutex
	byTag := map[string][]tags.Change{}
	e.Observe(func(changes []tags.Change) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range changes {
			byTag[c.Tag.Name] = append(byTag[c.Tag.Name], c)
		}
	})
	list := make([]tags.Tag, 500)
	for i := range list {
		list[i] = intTag(fmt.Sprintf("plc.%d", i), every(9*time.Millisecond))
		list[i].StaleAfter = 4 * time.Millisecond
	}
	require.NoError(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{Tags: list}))
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(byTag["plc.0"]) > 50
	}
	require.Eventually(t, enough, time.Minute, time.Millisecond)
	require.NoError(t, e.Close(t.Context()))
	seen := map[uint64]bool{}
	for name, changes := range byTag {
		slices.SortFunc(changes, func(a, b tags.Change) int { return int(a.Seq) - int(b.Seq) })
		for i, c := range changes {
			require.False(t, seen[c.Seq])
			seen[c.Seq] = true
			require.False(t, c.Late)
			if i > 0 { // the value never changes, so each report is of another quality
				require.NotEqual(t, describe(changes[i-1]), describe(c))
			}
		}
		require.Equal(t, sampleOf(t, e, name), changes[len(changes)-1].Sample)
	}
	require.False(t, seen[0])
}

func TestSeqOfASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		var told []uint64
		e.Observe(func(changes []tags.Change) { told = append(told, changes[0].Seq) })
		s, err := e.Subscribe(tags.SubscribeOptions{Names: []string{"plc.a"}})
		require.NoError(t, err)
		defer s.Close()
		first, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		d.has("a", tags.IntValue(1))
		after(time.Second)
		second, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, []uint64{second[0].Seq}, told, "the same change has the same Seq everywhere")
		require.Less(t, first[0].Seq, second[0].Seq)
	})
}

// Whoever shows or judges tags must not be left with values that nobody keeps up to date.
func TestStoppingTellsObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well, stuck, gone := newDevice(), newDevice(), newDevice()
		e, err := tags.New(tags.Options{})
		require.NoError(t, err)
		require.NoError(t, e.AddDriver("well", well, tags.DriverOptions{Tags: []tags.Tag{intTag("well.a")}}))
		require.NoError(t, e.AddDriver("stuck", stuck, tags.DriverOptions{Tags: []tags.Tag{intTag("stuck.a")}}))
		require.NoError(t, e.AddDriver("gone", gone, tags.DriverOptions{Tags: []tags.Tag{intTag("gone.a")}}))
		after(time.Second)
		freeze(t, stuck)
		after(time.Second)
		log := observe(e)
		require.NoError(t, e.RemoveDriver(t.Context(), "gone"))
		require.Equal(t, []string{"gone.a 0 Bad NoDriver"}, log.take())

		ctx := canceled(t)
		require.ErrorContains(t, e.Close(ctx), "stuck")
		require.ElementsMatch(t, []string{"well.a 0 Bad NotConnected", "stuck.a 0 Bad NotConnected"}, log.take())
		for _, id := range []string{"well", "stuck"} {
			requireSample(t, e, id+".a", tags.IntValue(0), tags.Bad, tags.ReasonNotConnected)
			require.Equal(t, tags.DriverStopped, status(t, e, id).State)
		}
		requireSample(t, e, "gone.a", tags.IntValue(0), tags.Bad, tags.ReasonNoDriver)
	})
}

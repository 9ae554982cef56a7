package clustertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster"
)

// TestStore runs the suite. newStore returns an empty store; it is called for each test.
func TestStore(t *testing.T, newStore func(t testing.TB) cluster.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s cluster.Store)
	}{
		{"sessions", testSessions},
		{"sessions that have ended", testEnded},
		{"losses", testLosses},
		{"leases", testLeases},
		{"a lease has one holder", testOneHolder},
		{"successors", testSuccessors},
		{"a renewal beside an end", testRenewalBesideEnd},
		{"many leases", testMany},
		{"an ended context", testContext},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

func session(id string, beat uint64) cluster.Session {
	return cluster.Session{ID: id, Engine: "engine " + id, Beat: beat, Host: "hall é", URL: "http://10.0.0.1:5001", Version: "1.2.3",
		Since: time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC), Labels: map[string]string{"hall": "north 'é\""},
		Unable: map[string]string{"driver/s7": "type S7 is not known"}, Wants: map[string]uint64{"driver/press": 7}}
}

func renew(t testing.TB, s cluster.Store, sessions ...cluster.Session) {
	t.Helper()
	for _, one := range sessions {
		require.NoError(t, s.Renew(context.Background(), one))
	}
}

func state(t testing.TB, s cluster.Store) cluster.State {
	t.Helper()
	found, err := s.State(context.Background())
	require.NoError(t, err)
	return found
}

func claim(t testing.TB, s cluster.Store, session string, works ...string) []cluster.Lease {
	t.Helper()
	leases, err := s.Claim(context.Background(), session, works)
	require.NoError(t, err)
	return leases
}

func testSessions(t *testing.T, s cluster.Store) {
	require.Empty(t, state(t, s).Sessions)
	a, b := session("a", 1), session("b", 1)
	b.Labels, b.Unable, b.Wants = nil, nil, nil
	renew(t, s, b, a)
	a.Beat, a.Draining = 5, true // renewals in between may have been lost
	renew(t, s, a)
	found := state(t, s).Sessions
	require.Len(t, found, 2)
	require.Equal(t, a, found[0])
	require.Empty(t, found[1].Labels)
	require.Empty(t, found[1].Unable)
	require.Empty(t, found[1].Wants)
	require.Equal(t, b.Since, found[1].Since)
}

func testEnded(t *testing.T, s cluster.Store) {
	require.ErrorIs(t, s.Renew(t.Context(), session("a", 2)), cluster.ErrEnded, "it was never there")
	renew(t, s, session("a", 1), session("a", 2))
	ended, err := s.End(t.Context(), "a", 1)
	require.NoError(t, err)
	require.False(t, ended, "it was renewed meanwhile")
	claim(t, s, "a", "x", "y")
	for range 2 {
		ended, err = s.End(t.Context(), "a", 4) // renewals of the engine itself may have been lost
		require.NoError(t, err)
		require.True(t, ended)
	}
	found := state(t, s)
	require.Empty(t, found.Sessions)
	require.Equal(t, []cluster.Lease{{Work: "x", Epoch: 1}, {Work: "y", Epoch: 1}}, found.Leases)
	require.ErrorIs(t, s.Renew(t.Context(), session("a", 3)), cluster.ErrEnded)
	_, err = s.Claim(t.Context(), "a", []string{"x"})
	require.ErrorIs(t, err, cluster.ErrEnded)
	require.Empty(t, state(t, s).Leases[0].Session)
}

func testLosses(t *testing.T, s cluster.Store) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 123456000, time.UTC)
	lose := func(one cluster.Session, at time.Time) bool {
		ended, err := s.Lose(t.Context(), one, at)
		require.NoError(t, err)
		return ended
	}
	a, b := session("a", 2), session("b", 1)
	renew(t, s, session("a", 1), b)
	renew(t, s, a)
	claim(t, s, "a", "x")
	require.False(t, lose(session("a", 1), at), "it was renewed meanwhile")
	require.Empty(t, state(t, s).Lost)
	for range 2 {
		require.True(t, lose(a, at))
	}
	found := state(t, s)
	require.Equal(t, []cluster.Loss{{Session: a, At: at}}, found.Lost)
	require.Equal(t, []cluster.Session{b}, found.Sessions)
	require.Equal(t, []cluster.Lease{{Work: "x", Epoch: 1}}, found.Leases)
	require.ErrorIs(t, s.Renew(t.Context(), session("a", 3)), cluster.ErrEnded)
	ended, err := s.End(t.Context(), "a", 2)
	require.NoError(t, err)
	require.True(t, ended)
	require.Len(t, state(t, s).Lost, 1, "its own end comes too late")

	again := session("a2", 1)
	again.Engine, again.Labels, again.Unable, again.Wants = a.Engine, nil, nil, nil
	renew(t, s, again)
	require.Len(t, state(t, s).Lost, 1, "that it is back is for others to judge")
	require.True(t, lose(again, at.Add(time.Hour)))
	require.True(t, lose(b, at))
	found = state(t, s)
	require.Len(t, found.Lost, 2, "an engine has one")
	require.Equal(t, []string{"b", "a2"}, []string{found.Lost[0].ID, found.Lost[1].ID}, "by time")

	ended, err = s.End(t.Context(), "gone", 1)
	require.NoError(t, err)
	require.True(t, ended)
	require.True(t, lose(session("gone", 1), at))
	require.Len(t, state(t, s).Lost, 2, "who has left is not lost")

	for _, id := range []string{"a2", "a2", "never"} {
		require.NoError(t, s.Forget(t.Context(), id))
	}
	require.Equal(t, []cluster.Loss{{Session: b, At: at}}, state(t, s).Lost)

	for i := range cluster.MaxLost + 5 {
		one := session(fmt.Sprintf("s%03d", i), 1)
		renew(t, s, one)
		require.True(t, lose(one, at.Add(time.Duration(i)*time.Second)))
	}
	found = state(t, s)
	require.Len(t, found.Lost, cluster.MaxLost)
	require.Equal(t, "s005", found.Lost[0].ID)
	require.Equal(t, "s104", found.Lost[cluster.MaxLost-1].ID)
}

func testLeases(t *testing.T, s cluster.Store) {
	renew(t, s, session("a", 1), session("b", 1))
	require.Equal(t, []cluster.Lease{{Work: "x", Session: "a", Epoch: 1}, {Work: "é 'y'", Session: "a", Epoch: 1}}, claim(t, s, "a", "x", "é 'y'"))
	require.Equal(t, []cluster.Lease{{Work: "z", Session: "b", Epoch: 1}}, claim(t, s, "b", "x", "z"), "x is held")
	require.Empty(t, claim(t, s, "a", "x"), "also by the one that claims it")
	require.NoError(t, s.Release(t.Context(), "b", []string{"x", "z", "unknown"}, ""), "only what it holds")
	require.Equal(t, []cluster.Lease{{Work: "x", Session: "a", Epoch: 1}, {Work: "z", Epoch: 1}, {Work: "é 'y'", Session: "a", Epoch: 1}}, state(t, s).Leases)
	require.Equal(t, []cluster.Lease{{Work: "z", Session: "a", Epoch: 2}}, claim(t, s, "a", "z"))
	require.Empty(t, claim(t, s, "a"))
}

func testSuccessors(t *testing.T, s cluster.Store) {
	renew(t, s, session("a", 1), session("b", 1))
	claim(t, s, "a", "x", "y")
	require.NoError(t, s.Release(t.Context(), "a", []string{"x"}, "b"))
	require.NoError(t, s.Release(t.Context(), "a", []string{"y"}, "gone"))
	require.Equal(t, []cluster.Lease{{Work: "x", Session: "b", Epoch: 2}, {Work: "y", Epoch: 1}}, state(t, s).Leases)
}

func testOneHolder(t *testing.T, s cluster.Store) {
	const engines, works = 4, 10
	names := make([]string, works)
	for i := range names {
		names[i] = fmt.Sprintf("driver/%d", i)
	}
	var mu sync.Mutex
	holders := map[string]string{}
	var wg sync.WaitGroup
	for i := range engines {
		id := fmt.Sprint("s", i)
		renew(t, s, session(id, 1))
		wg.Go(func() {
			leases, err := s.Claim(context.Background(), id, names)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			for _, l := range leases {
				if other, held := holders[l.Work]; held {
					t.Errorf("%s is held by %s and %s", l.Work, other, id)
				}
				holders[l.Work] = id
			}
		})
	}
	wg.Wait()
	require.Len(t, holders, works)
	for _, l := range state(t, s).Leases {
		require.Equal(t, holders[l.Work], l.Session)
		require.EqualValues(t, 1, l.Epoch)
	}
}

func testRenewalBesideEnd(t *testing.T, s cluster.Store) {
	for i := range 20 {
		id := fmt.Sprint("s", i)
		renew(t, s, session(id, 1))
		claim(t, s, id, id)
		var wg sync.WaitGroup
		var renewed, ending error
		var ended bool
		wg.Go(func() { renewed = s.Renew(context.Background(), session(id, 2)) })
		wg.Go(func() { ended, ending = s.End(context.Background(), id, 1) })
		wg.Wait()
		require.NoError(t, ending)
		if ended {
			require.ErrorIs(t, renewed, cluster.ErrEnded)
		} else {
			require.NoError(t, renewed)
		}
		for _, l := range state(t, s).Leases {
			if l.Work == id {
				require.Equal(t, ended, l.Session == "")
			}
		}
	}
}

func testMany(t *testing.T, s cluster.Store) {
	renew(t, s, session("a", 1), session("b", 1))
	works := make([]string, 3000)
	for i := range works {
		works[i] = fmt.Sprintf("driver/%04d", i)
	}
	require.Len(t, claim(t, s, "a", works...), len(works))
	require.NoError(t, s.Release(t.Context(), "a", works[:2000], "b"))
	n := map[string]int{}
	for i, l := range state(t, s).Leases {
		require.Equal(t, works[i], l.Work)
		n[l.Session]++
	}
	require.Equal(t, map[string]int{"a": 1000, "b": 2000}, n)
}

func testContext(t *testing.T, s cluster.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.Renew(ctx, session("a", 1)))
	_, err := s.State(ctx)
	require.Error(t, err)
	_, err = s.Lose(ctx, session("a", 1), time.Now())
	require.Error(t, err)
	require.Error(t, s.Forget(ctx, "a"))
	require.Empty(t, state(t, s).Sessions)
}

package discoverytest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// TestSharedStore runs the suite of a store that several engines use, TestStore included. newStore returns an empty store; it is called for each test.
func TestSharedStore(t *testing.T, newStore func(t testing.TB) discovery.SharedStore) {
	TestStore(t, func(t testing.TB) discovery.Store { return newStore(t) })
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s discovery.SharedStore)
	}{
		{"claims", testClaims},
		{"claims of other drivers", testClaimsOfOtherDrivers},
		{"a late engine", testLate},
		{"claims beside positions", testClaimsBesidePositions},
		{"reports", testReports},
		{"one plant", testPlant},
		{"engines", testEngines},
		{"versions", testVersions},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

func at(epoch string, through, fence uint64) discovery.Position {
	return discovery.Position{BridgeID: "a", Epoch: epoch, Through: through, Fence: fence}
}

func claim(t *testing.T, s discovery.SharedStore, epoch uint64) discovery.Binding {
	t.Helper()
	b, err := s.Claim(t.Context(), "a", "driver", epoch)
	require.NoError(t, err)
	return b
}

func testClaims(t *testing.T, s discovery.SharedStore) {
	want := add(t, s, "a", "driver")
	_, err := s.Binding(t.Context(), "b")
	require.ErrorIs(t, err, discovery.ErrNotBound)
	_, err = s.Claim(t.Context(), "b", "driver", 1)
	require.ErrorIs(t, err, discovery.ErrNotBound)
	want.Fence = 3
	require.Equal(t, want, claim(t, s, 3), "the first one, without a position")
	require.Equal(t, want, claim(t, s, 3), "again")
	got, err := s.Binding(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.NoError(t, s.SetPosition(t.Context(), at("one", 5, 3)))
	want.Epoch, want.Position, want.Fence = "one", 5, 4
	require.Equal(t, want, claim(t, s, 4))
	_, err = s.Claim(t.Context(), "a", "driver", 3)
	require.ErrorIs(t, err, discovery.ErrLate)
	require.Equal(t, []discovery.Binding{want}, all(t, s))

	require.NoError(t, s.RemoveBinding(t.Context(), "a"))
	_, err = s.Claim(t.Context(), "a", "driver", 5)
	require.ErrorIs(t, err, discovery.ErrNotBound)
	again := add(t, s, "a", "driver")
	again.Epoch, again.Position = "one", 5
	require.Equal(t, []discovery.Binding{again}, all(t, s), "nobody has claimed it")
	require.EqualValues(t, 1, claim(t, s, 1).Fence)
}

// A bridge that was bound again with another driver has leases of another row, whose epochs begin at 1.
func testClaimsOfOtherDrivers(t *testing.T, s discovery.SharedStore) {
	add(t, s, "a", "driver")
	claim(t, s, 50)
	require.NoError(t, s.RemoveBinding(t.Context(), "a"))
	add(t, s, "a", "other")
	_, err := s.Claim(t.Context(), "a", "driver", 51)
	require.ErrorIs(t, err, discovery.ErrNotBound)
	require.ErrorIs(t, s.SetPosition(t.Context(), at("one", 9, 50)), discovery.ErrLate)
	_, err = s.Claim(t.Context(), "a", "other", 1)
	require.NoError(t, err)
	require.ErrorIs(t, s.SetPosition(t.Context(), at("one", 9, 50)), discovery.ErrLate)
	require.NoError(t, s.SetPosition(t.Context(), at("one", 7, 1)))
	require.EqualValues(t, 7, all(t, s)[0].Position)
}

// An engine whose link another one has claimed changes nothing any more.
func testLate(t *testing.T, s discovery.SharedStore) {
	want := add(t, s, "a", "driver")
	lost := func(b *discovery.Binding) error {
		b.RecentlyLost++
		return nil
	}
	claim(t, s, 2)
	require.NoError(t, s.SetPosition(t.Context(), at("one", 5, 2)))
	require.NoError(t, s.SetPosition(t.Context(), at("one", 4, 2)), "it is there already")
	require.NoError(t, s.UpdateAt(t.Context(), at("one", 7, 2), lost))
	claim(t, s, 4)
	for _, p := range []discovery.Position{at("one", 9, 2), at("one", 3, 2), at("two", 1, 2), at("one", 9, 3), at("one", 9, 5)} {
		require.ErrorIs(t, s.SetPosition(t.Context(), p), discovery.ErrLate, p)
		require.ErrorIs(t, s.UpdateAt(t.Context(), p, lost), discovery.ErrLate, p)
	}
	_, m := binding("a", "driver")
	m.Tags = nil
	require.ErrorIs(t, s.SetManifest(t.Context(), "a", m, 2), discovery.ErrLate)
	require.NoError(t, s.UpdateBinding(t.Context(), "a", func(b *discovery.Binding) error {
		require.EqualValues(t, 4, b.Fence, "a change can tell")
		b.Fence = 99 // which stays
		return nil
	}))
	want.Epoch, want.Position, want.Fence, want.RecentlyLost = "one", 7, 4, want.RecentlyLost+1
	require.Equal(t, []discovery.Binding{want}, all(t, s))

	require.NoError(t, s.SetPosition(t.Context(), at("two", 1, 4)))
	require.NoError(t, s.UpdateAt(t.Context(), at("two", 2, 4), lost))
	require.NoError(t, s.SetManifest(t.Context(), "a", m, 4))
	require.NoError(t, s.SetPosition(t.Context(), at("two", 3, 0)), "an engine that is alone")
	want.Epoch, want.Position, want.RecentlyLost = "two", 3, want.RecentlyLost+1
	want.TakeManifest(m)
	require.Equal(t, []discovery.Binding{want}, all(t, s))
}

// What Claim returns is the last position: one that was being stored is in it, or is refused.
func testClaimsBesidePositions(t *testing.T, s discovery.SharedStore) {
	add(t, s, "a", "driver")
	claim(t, s, 1)
	ctx := context.WithoutCancel(t.Context())
	for round := range uint64(20) {
		stored, last := make(chan uint64, 1), round*1_000_000
		var wg sync.WaitGroup
		wg.Go(func() {
			n := last
			for s.SetPosition(ctx, at("one", n+1, round+1)) == nil {
				n++
				time.Sleep(time.Millisecond) // as long as it takes to store the samples
			}
			stored <- n
		})
		time.Sleep(time.Duration(round) * 200 * time.Microsecond)
		b := claim(t, s, round+2)
		wg.Wait()
		is := <-stored
		require.Equal(t, is, max(b.Position, last))
		require.NoError(t, s.SetPosition(ctx, at("one", last+1_000_000, round+2)))
	}
}

func testReports(t *testing.T, s discovery.SharedStore) {
	want, other := add(t, s, "a", "driver"), add(t, s, "b", "other")
	r := discovery.Report{Engine: "one é", Epoch: 3, LinkOpen: true, Since: start, Missed: 2, Problem: `no "answer"`, Released: true, Down: true, DriverDown: true,
		ShellKnown: true, ShellProblem: "taken", HeartbeatAt: start.Add(time.Second), Buffer: &link.Buffer{Waiting: 7, Bytes: 100, MaxBytes: 500, Dropped: 2, OldestSeconds: 1.5},
		BufferAt: start.Add(time.Minute)}
	require.NoError(t, s.SetReports(t.Context(), map[string]discovery.Report{"a": r, "nobody": r}))
	require.NoError(t, s.SetReports(t.Context(), nil))
	want.Report = r
	require.Equal(t, []discovery.Binding{want, other}, all(t, s))
	require.NoError(t, s.SetReports(t.Context(), map[string]discovery.Report{"a": {Engine: "late", Epoch: 2}}))
	require.NoError(t, s.UpdateBinding(t.Context(), "a", func(b *discovery.Binding) error {
		require.Equal(t, r, b.Report)
		b.Report = discovery.Report{} // which stays
		return nil
	}))
	require.Equal(t, []discovery.Binding{want, other}, all(t, s))
	want.Report = discovery.Report{Engine: "two", Epoch: 4}
	require.NoError(t, s.SetReports(t.Context(), map[string]discovery.Report{"a": want.Report}))
	require.Equal(t, []discovery.Binding{want, other}, all(t, s))
	require.NoError(t, s.RemoveBinding(t.Context(), "a"))
	want = add(t, s, "a", "driver")
	require.Equal(t, []discovery.Binding{want, other}, all(t, s))
	require.NoError(t, s.SetReports(t.Context(), map[string]discovery.Report{"a": {Engine: "one", Epoch: 1}}), "with leases of another driver")
	require.Equal(t, "one", all(t, s)[0].Report.Engine)
}

func testPlant(t *testing.T, s discovery.SharedStore) {
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			id, err := s.PlantID(context.WithoutCancel(t.Context()), fmt.Sprint("plant ", i))
			if err == nil {
				ids[i] = id
			}
		})
	}
	wg.Wait()
	require.Contains(t, ids[0], "plant ")
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
}

func testEngines(t *testing.T, s discovery.SharedStore) {
	none, err := s.Engines(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	b := discovery.Engine{ID: "b é", URLs: []string{"http://b:5001", "https://plant"}, Pins: []string{"sha256/x"}, SeenAt: start}
	a := discovery.Engine{ID: "a", SeenAt: start}
	require.NoError(t, s.SetEngine(t.Context(), b))
	require.NoError(t, s.SetEngine(t.Context(), a))
	list, err := s.Engines(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Empty(t, list[0].URLs)
	require.Empty(t, list[0].Pins)
	require.Equal(t, b, list[1])
	b.URLs, b.SeenAt = []string{"http://b:5002"}, start.Add(time.Hour)
	require.NoError(t, s.SetEngine(t.Context(), b))
	list, err = s.Engines(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, b, list[1])
}

func testVersions(t *testing.T, s discovery.SharedStore) {
	last, err := s.Version(t.Context())
	require.NoError(t, err)
	grows := func(what string, grown bool, err error) {
		t.Helper()
		require.NoError(t, err)
		version, err := s.Version(t.Context())
		require.NoError(t, err)
		if grown {
			require.Greater(t, version, last, what)
		} else {
			require.Equal(t, last, version, what)
		}
		last = version
	}
	b, m := binding("a", "driver")
	keep := func(*discovery.Binding) error { return nil }
	grows("a binding", true, s.AddBinding(t.Context(), b, m))
	grows("a change", true, s.UpdateBinding(t.Context(), "a", keep))
	grows("a change at a position", true, s.UpdateAt(t.Context(), at("one", 1, 0), keep))
	grows("a position", false, s.SetPosition(t.Context(), at("one", 2, 0)))
	grows("a manifest", true, s.SetManifest(t.Context(), "a", link.Manifest{BridgeID: "a", DriverID: "driver"}, 0))
	grows("heartbeats", true, s.SetHeartbeats(t.Context(), map[string]time.Time{"a": start}))
	_, err = s.Claim(t.Context(), "a", "driver", 1)
	grows("a claim", false, err)
	grows("reports", true, s.SetReports(t.Context(), map[string]discovery.Report{"a": {Engine: "one", Epoch: 1}}))
	grows("an engine", true, s.SetEngine(t.Context(), discovery.Engine{ID: "one", SeenAt: start}))
	grows("the end of a binding", true, s.RemoveBinding(t.Context(), "a"))
}

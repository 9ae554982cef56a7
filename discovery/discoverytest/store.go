package discoverytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// TestStore runs the suite. newStore returns an empty store; it is called for each test.
func TestStore(t *testing.T, newStore func(t testing.TB) discovery.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s discovery.Store)
	}{
		{"bindings", testBindings},
		{"updates", testUpdates},
		{"updates that fail", testFailedUpdates},
		{"one binding for a bridge and a driver", testTaken},
		{"concurrent bindings", testConcurrentBindings},
		{"concurrent updates", testConcurrentUpdates},
		{"manifests", testManifests},
		{"a large manifest", testLargeManifest},
		{"positions", testPositions},
		{"a change at a position", testUpdateAt},
		{"positions outlast bindings", testPositionsOutlast},
		{"heartbeats", testHeartbeats},
		{"what is not there", testNotBound},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)

// binding returns a binding with its manifest, as a service adds it.
func binding(id, driver string) (discovery.Binding, link.Manifest) {
	low, high := 0.0, 12.5
	m := link.Manifest{BridgeID: id, DriverID: driver, DriverType: "Modbus", AvailableSubmodels: []string{"Nameplate", "OperationalData"},
		ActiveSubmodels: []string{"OperationalData"},
		Shell:           &link.Shell{ID: "urn:" + id, IDShort: "Press", Nameplate: link.Nameplate{SerialNumber: "7"}}, Tags: []link.ManifestTag{
			{Name: "force é", Address: "40001", DataType: "Float", ScanInterval: 500, Unit: "kN", Description: `"north" %_'\` + "\n", Access: "ReadWrite", Min: &low, Max: &high},
			{Name: "text", Address: "40010", DataType: "String:16", Length: 16}}}
	b := discovery.Binding{BridgeID: id, DriverID: driver, EngineID: "engine@host", BoundAt: start, URLs: []string{"http://10.0.0.5:5100", "http://[fe80::1%25eth0]:5100"},
		Token: "token-" + id, Key: "key-" + id, LinkedAt: start.Add(time.Second), HeartbeatAt: start.Add(2 * time.Second), Offline: true,
		Lost: math.MaxInt64, RecentlyLost: 7, LostAt: start.Add(3 * time.Second), LostText: "é'", DriverDownAt: start.Add(4 * time.Second), DriverDownText: "no answer"}
	b.TakeManifest(m)
	return b, m
}

func add(t *testing.T, s discovery.Store, id, driver string) discovery.Binding {
	t.Helper()
	b, m := binding(id, driver)
	require.NoError(t, s.AddBinding(t.Context(), b, m))
	return b
}

func all(t *testing.T, s discovery.Store) []discovery.Binding {
	t.Helper()
	list, err := s.Bindings(t.Context())
	require.NoError(t, err)
	return list
}

func testBindings(t *testing.T, s discovery.Store) {
	require.Empty(t, all(t, s))
	second, first := add(t, s, "press-2", "b"), add(t, s, "Bridge é/1", "a")
	require.Equal(t, []discovery.Binding{first, second}, all(t, s), "all members, by id")

	bare := discovery.Binding{BridgeID: "c", DriverID: "c", EngineID: "e", BoundAt: start, URLs: []string{"http://c"}}
	require.NoError(t, s.AddBinding(t.Context(), bare, link.Manifest{BridgeID: "c", DriverID: "c"}))
	got := all(t, s)[1]
	require.Equal(t, "c", got.BridgeID)
	require.True(t, got.LinkedAt.IsZero() && got.HeartbeatAt.IsZero() && got.LostAt.IsZero() && got.DriverDownAt.IsZero())
	require.Empty(t, got.ActiveSubmodels)

	require.NoError(t, s.RemoveBinding(t.Context(), "press-2"))
	require.NoError(t, s.RemoveBinding(t.Context(), "c"))
	require.Equal(t, []discovery.Binding{first}, all(t, s))
	again := add(t, s, "press-2", "b")
	require.Equal(t, []discovery.Binding{first, again}, all(t, s))
}

func testUpdates(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	other := add(t, s, "b", "other")
	change := func(b *discovery.Binding) error {
		b.URLs, b.Token, b.Key, b.Offline = []string{"https://new"}, "", "other key", false
		b.LinkedAt, b.HeartbeatAt, b.LostAt = start.Add(time.Hour), start.Add(2*time.Hour), time.Time{}
		b.Lost, b.RecentlyLost, b.LostText, b.DriverDownAt, b.DriverDownText = 1, 2, "", start.Add(time.Minute), "gone"
		return nil
	}
	require.NoError(t, change(&want))
	require.NoError(t, s.UpdateBinding(t.Context(), "a", func(b *discovery.Binding) error {
		b.BridgeID, b.DriverID, b.EngineID, b.Epoch, b.Position = "x", "x", "x", "x", 9 // which stay
		b.TagCount, b.ManifestHash, b.DriverType, b.ActiveSubmodels = 99, "x", "x", nil
		return change(b)
	}))
	require.Equal(t, []discovery.Binding{want, other}, all(t, s))
}

func testFailedUpdates(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	failure := errors.New("no")
	require.ErrorIs(t, s.UpdateBinding(t.Context(), "a", func(b *discovery.Binding) error {
		b.Key = "changed"
		return failure
	}), failure)
	require.Equal(t, []discovery.Binding{want}, all(t, s))
}

func testTaken(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	b, m := binding("a", "another")
	b.Token = "other"
	require.ErrorIs(t, s.AddBinding(t.Context(), b, m), discovery.ErrAlreadyBound)
	b, m = binding("b", "driver")
	require.ErrorIs(t, s.AddBinding(t.Context(), b, m), discovery.ErrDriverTaken)
	b, m = binding("a", "driver")
	require.ErrorIs(t, s.AddBinding(t.Context(), b, m), discovery.ErrAlreadyBound)
	require.Equal(t, []discovery.Binding{want}, all(t, s))
	_, err := s.Manifest(t.Context(), "b")
	require.ErrorIs(t, err, discovery.ErrNotBound, "nothing of the refused one is left")
}

func testConcurrentBindings(t *testing.T, s discovery.Store) {
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			b, m := binding("a", fmt.Sprint("driver", i))
			errs[i] = s.AddBinding(context.WithoutCancel(t.Context()), b, m)
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		if err == nil {
			added++
			continue
		}
		require.ErrorIs(t, err, discovery.ErrAlreadyBound)
	}
	require.Equal(t, 1, added)
	require.Len(t, all(t, s), 1)
}

func testConcurrentUpdates(t *testing.T, s discovery.Store) {
	b, m := binding("a", "driver")
	b.Lost = 0
	require.NoError(t, s.AddBinding(t.Context(), b, m))
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.UpdateBinding(context.WithoutCancel(t.Context()), "a", func(b *discovery.Binding) error {
				b.Lost++
				return nil
			})
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, uint64(10), all(t, s)[0].Lost, "none is lost")
}

func testManifests(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	_, m := binding("a", "driver")
	got, err := s.Manifest(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, m, got)

	m.DriverType, m.Tags, m.ActiveSubmodels, m.BindingToken = "OpcUa", m.Tags[:1], nil, "secret"
	require.NoError(t, s.SetManifest(t.Context(), "a", m, 0))
	want.TakeManifest(m)
	require.Equal(t, []string{"Nameplate", "OperationalData"}, want.ActiveSubmodels, "all that are available")
	require.Equal(t, []discovery.Binding{want}, all(t, s))
	got, err = s.Manifest(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, m.Hash(), got.Hash())
	require.Empty(t, got.BindingToken)
}

func testLargeManifest(t *testing.T, s discovery.Store) {
	b, m := binding("a", "driver")
	m.Tags = make([]link.ManifestTag, 100_000)
	for i := range m.Tags {
		m.Tags[i] = link.ManifestTag{Name: fmt.Sprintf("line 1.station %d.value", i), Address: fmt.Sprint(i), DataType: "Float", ScanInterval: 1000}
	}
	b.TakeManifest(m)
	require.NoError(t, s.AddBinding(t.Context(), b, m))
	got, err := s.Manifest(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, m.Hash(), got.Hash())
	require.Equal(t, 100_000, all(t, s)[0].TagCount)
}

func testPositions(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	set := func(epoch string, through uint64) {
		t.Helper()
		require.NoError(t, s.SetPosition(t.Context(), discovery.Position{BridgeID: "a", Epoch: epoch, Through: through}))
	}
	require.Equal(t, []discovery.Binding{want}, all(t, s), "none yet")
	for _, step := range []struct {
		epoch         string
		through, then uint64
	}{{"one", 5, 5}, {"one", 3, 5}, {"one", math.MaxInt64, math.MaxInt64}, {"two", 1, 1}, {"two", 4, 4}} {
		set(step.epoch, step.through)
		want.Epoch, want.Position = step.epoch, step.then
		require.Equal(t, []discovery.Binding{want}, all(t, s))
	}
}

func testUpdateAt(t *testing.T, s discovery.Store) {
	want := add(t, s, "a", "driver")
	lost := want.RecentlyLost
	lose := func(b *discovery.Binding) error {
		b.RecentlyLost++
		return nil
	}
	at := func(epoch string, through uint64) discovery.Position {
		return discovery.Position{BridgeID: "a", Epoch: epoch, Through: through}
	}
	for _, step := range []struct {
		epoch         string
		through, lost uint64
	}{{"one", 5, 1}, {"one", 5, 1}, {"one", 4, 1}, {"one", 6, 2}, {"two", 1, 3}} {
		require.NoError(t, s.UpdateAt(t.Context(), at(step.epoch, step.through), lose))
		want.Epoch, want.Position, want.RecentlyLost = step.epoch, max(step.through, want.Position), lost+step.lost
		if step.epoch == "two" {
			want.Position = step.through
		}
		require.Equal(t, []discovery.Binding{want}, all(t, s))
	}
	attempts := make(chan error)
	for range 8 { // the outcome of the ones before is not known
		go func() { attempts <- s.UpdateAt(t.Context(), at("two", 2), lose) }()
	}
	for range 8 {
		require.NoError(t, <-attempts)
	}
	want.Position, want.RecentlyLost = 2, want.RecentlyLost+1
	require.Equal(t, []discovery.Binding{want}, all(t, s))
	failed := errors.New("no")
	require.ErrorIs(t, s.UpdateAt(t.Context(), at("two", 9), func(*discovery.Binding) error { return failed }), failed)
	require.Equal(t, []discovery.Binding{want}, all(t, s), "nothing is stored")
	require.ErrorIs(t, s.UpdateAt(t.Context(), discovery.Position{BridgeID: "b", Epoch: "one", Through: 1}, lose), discovery.ErrNotBound)
}

func testPositionsOutlast(t *testing.T, s discovery.Store) {
	require.NoError(t, s.SetPosition(t.Context(), discovery.Position{BridgeID: "a", Epoch: "one", Through: 5}), "of a bridge that is not bound")
	add(t, s, "a", "driver")
	got := all(t, s)[0]
	require.Equal(t, "one", got.Epoch)
	require.Equal(t, uint64(5), got.Position)
	require.NoError(t, s.RemoveBinding(t.Context(), "a"))
	b, m := binding("a", "driver")
	b.Epoch, b.Position = "other", 99 // which are ignored
	require.NoError(t, s.AddBinding(t.Context(), b, m))
	got = all(t, s)[0]
	require.Equal(t, "one", got.Epoch)
	require.Equal(t, uint64(5), got.Position)
}

func testHeartbeats(t *testing.T, s discovery.Store) {
	a, b := add(t, s, "a", "driver"), add(t, s, "b", "other")
	a.HeartbeatAt = start.Add(time.Hour)
	require.NoError(t, s.SetHeartbeats(t.Context(), map[string]time.Time{"a": a.HeartbeatAt, "nobody": start}))
	require.NoError(t, s.SetHeartbeats(t.Context(), nil))
	require.Equal(t, []discovery.Binding{a, b}, all(t, s))
}

func testNotBound(t *testing.T, s discovery.Store) {
	add(t, s, "a", "driver")
	_, err := s.Manifest(t.Context(), "A")
	require.ErrorIs(t, err, discovery.ErrNotBound, "ids differ by case")
	require.ErrorIs(t, s.SetManifest(t.Context(), "b", link.Manifest{BridgeID: "b"}, 0), discovery.ErrNotBound)
	require.ErrorIs(t, s.RemoveBinding(t.Context(), "b"), discovery.ErrNotBound)
	require.ErrorIs(t, s.UpdateBinding(t.Context(), "b", func(*discovery.Binding) error { panic("called") }), discovery.ErrNotBound)
}

package alertingtest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
)

// TestSilenceStore runs the suite for a store of silences. newStore returns an empty store each time it
// is called, and cleans up with t.Cleanup.
func TestSilenceStore(t *testing.T, newStore func(testing.TB) silences.Store) {
	t.Helper()
	runAll(t, newStore, []test[silences.Store]{
		{"an empty store has none", testNoSilences},
		{"a silence comes back as it was stored", testSilenceRoundTrip},
		{"silences are listed newest first", testSilenceOrder},
		{"ended ones are left out when asked", testSilencesEndsAfter},
		{"a removed silence is gone", testRemoveSilence},
		{"a silence is changed as a whole or not at all", testChangeSilence},
		{"there is room for so many, and ended ones make room", testSilenceRoom},
		{"a cancelled context ends a call", testSilenceCancelled},
		{"of many that remove one silence a single one succeeds", testConcurrentRemove},
		{"many add at once and all is kept", testConcurrentSilences},
	})
}

func silence(n int) silences.Silence {
	return silences.Silence{
		ID: id(n), SourceType: "Sensor", Pattern: "Line-*-Ä", Reason: "pump 'exchange' \"4%_\"", CreatedBy: "Ana Müller", RecordedBy: "größe",
		CreatedAt: base, StartsAt: base.Add(time.Hour), EndsAt: base.Add(2 * time.Hour),
	}
}

func testSilenceRoom(t *testing.T, s silences.Store) {
	add := func(n int, anonymous bool) error {
		one := silence(n)
		one.Anonymous = anonymous
		one.EndsAt = base.Add(time.Duration(n) * time.Hour)
		one.CreatedAt = base.Add(90 * time.Minute) // the first has ended
		return s.AddSilence(t.Context(), one, silences.Room{Total: 4, Anonymous: 2})
	}
	require.NoError(t, add(1, true))
	require.NoError(t, add(2, true))
	require.NoError(t, add(3, true), "in place of the first")
	require.ErrorIs(t, add(4, true), silences.ErrTooMany)
	require.NoError(t, add(5, false))
	require.NoError(t, add(6, false))
	require.ErrorIs(t, add(7, false), silences.ErrTooMany)
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.Equal(t, []string{id(6), id(5), id(3), id(2)}, []string{all[0].ID, all[1].ID, all[2].ID, all[3].ID})
	require.True(t, all[3].Anonymous)
	require.False(t, all[0].Anonymous)
}

func sameSilence(t *testing.T, want, got silences.Silence) {
	t.Helper()
	sameTime(t, want.CreatedAt, got.CreatedAt, "CreatedAt")
	sameTime(t, want.StartsAt, got.StartsAt, "StartsAt")
	sameTime(t, want.EndsAt, got.EndsAt, "EndsAt")
	got.CreatedAt, got.StartsAt, got.EndsAt = want.CreatedAt, want.StartsAt, want.EndsAt
	require.Equal(t, want, got)
}

func testNoSilences(t *testing.T, s silences.Store) {
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Empty(t, all)
	require.ErrorIs(t, s.RemoveSilence(t.Context(), id(1)), silences.ErrNotFound)
}

func testSilenceRoundTrip(t *testing.T, s silences.Store) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1), silences.Room{}))
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	sameSilence(t, silence(1), all[0])
}

func testSilenceOrder(t *testing.T, s silences.Store) {
	for _, n := range []int{2, 5, 3} { // one moment, so the id decides
		require.NoError(t, s.AddSilence(t.Context(), silence(n), silences.Room{}))
	}
	old, young := silence(9), silence(1)
	old.CreatedAt, young.CreatedAt = base.Add(-time.Microsecond), base.Add(time.Microsecond)
	require.NoError(t, s.AddSilence(t.Context(), old, silences.Room{}))
	require.NoError(t, s.AddSilence(t.Context(), young, silences.Room{}))
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{id(1), id(5), id(3), id(2), id(9)}, silenceIDs(all))
}

func silenceIDs(list []silences.Silence) []string {
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func testSilencesEndsAfter(t *testing.T, s silences.Store) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1), silences.Room{}))
	ends := silence(1).EndsAt
	for at, want := range map[time.Time]int{ends.Add(-time.Microsecond): 1, ends: 0, ends.Add(time.Hour): 0} {
		list, err := s.Silences(t.Context(), at)
		require.NoError(t, err)
		require.Len(t, list, want, "at %v", at)
	}
}

func testChangeSilence(t *testing.T, s silences.Store) {
	for n := range 2 {
		require.NoError(t, s.AddSilence(t.Context(), silence(n+1), silences.Room{}))
	}
	want := silence(1)
	want.SourceType, want.Pattern, want.Reason, want.EndsAt = "*", "Line-2/*", "longer", want.EndsAt.Add(time.Hour)
	err := s.ChangeSilence(t.Context(), id(1), func(n *silences.Silence) error {
		sameSilence(t, silence(1), *n)
		n.SourceType, n.Pattern, n.Reason, n.EndsAt = want.SourceType, want.Pattern, want.Reason, want.EndsAt
		return nil
	})
	require.NoError(t, err)
	refused := errors.New("refused")
	err = s.ChangeSilence(t.Context(), id(2), func(n *silences.Silence) error {
		n.Reason = "other"
		return refused
	})
	require.ErrorIs(t, err, refused)
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	sameSilence(t, silence(2), all[0])
	sameSilence(t, want, all[1])
	require.ErrorIs(t, s.ChangeSilence(t.Context(), id(3), func(*silences.Silence) error { return nil }), silences.ErrNotFound)
}

func testRemoveSilence(t *testing.T, s silences.Store) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1), silences.Room{}))
	require.NoError(t, s.AddSilence(t.Context(), silence(2), silences.Room{}))
	require.NoError(t, s.RemoveSilence(t.Context(), id(1)))
	require.ErrorIs(t, s.RemoveSilence(t.Context(), id(1)), silences.ErrNotFound)
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{id(2)}, silenceIDs(all))
}

func testSilenceCancelled(t *testing.T, s silences.Store) {
	require.Error(t, s.AddSilence(cancelled(t), silence(1), silences.Room{}))
	_, err := s.Silences(cancelled(t), time.Time{})
	require.Error(t, err)
}

func testConcurrentRemove(t *testing.T, s silences.Store) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1), silences.Room{}))
	var won atomic.Int32
	together(func(int) {
		switch err := s.RemoveSilence(t.Context(), id(1)); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, silences.ErrNotFound):
			t.Errorf("remove: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
}

func testConcurrentSilences(t *testing.T, s silences.Store) {
	const each = 10
	together(func(caller int) {
		for i := range each {
			if err := s.AddSilence(t.Context(), silence(caller*each+i), silences.Room{}); err != nil {
				t.Errorf("add: %v", err)
			}
			if _, err := s.Silences(t.Context(), base); err != nil {
				t.Errorf("list: %v", err)
			}
		}
	})
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, all, callers*each)
}

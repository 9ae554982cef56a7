package alertingtest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
)

// TestSilenceStore runs the suite for a store of silences. newStore gives an empty store each time it
// is called and cleans up with t.Cleanup.
func TestSilenceStore(t *testing.T, newStore func(testing.TB) alerting.SilenceStore) {
	t.Helper()
	runAll(t, newStore, []test[alerting.SilenceStore]{
		{"an empty store has none", testNoSilences},
		{"a silence comes back as it was stored", testSilenceRoundTrip},
		{"silences are listed newest first", testSilenceOrder},
		{"ended ones are left out when asked", testSilencesEndsAfter},
		{"a removed silence is gone", testRemoveSilence},
		{"a cancelled context ends a call", testSilenceCancelled},
		{"of many that remove one silence a single one succeeds", testConcurrentRemove},
		{"many add at once and all is kept", testConcurrentSilences},
	})
}

func silence(n int) alerting.Silence {
	return alerting.Silence{
		ID: id(n), SourceType: "Sensor", Pattern: "Line-*-Ä", Reason: "pump 'exchange' \"4%_\"", CreatedBy: "Ana Müller",
		CreatedAt: base, StartsAt: base.Add(time.Hour), EndsAt: base.Add(2 * time.Hour),
	}
}

func sameSilence(t *testing.T, want, got alerting.Silence) {
	t.Helper()
	sameTime(t, want.CreatedAt, got.CreatedAt, "CreatedAt")
	sameTime(t, want.StartsAt, got.StartsAt, "StartsAt")
	sameTime(t, want.EndsAt, got.EndsAt, "EndsAt")
	got.CreatedAt, got.StartsAt, got.EndsAt = want.CreatedAt, want.StartsAt, want.EndsAt
	require.Equal(t, want, got)
}

func testNoSilences(t *testing.T, s alerting.SilenceStore) {
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Empty(t, all)
	require.ErrorIs(t, s.RemoveSilence(t.Context(), id(1)), alerting.ErrSilenceNotFound)
}

func testSilenceRoundTrip(t *testing.T, s alerting.SilenceStore) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1)))
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	sameSilence(t, silence(1), all[0])
}

func testSilenceOrder(t *testing.T, s alerting.SilenceStore) {
	for _, n := range []int{2, 5, 3} { // one moment, so the id decides
		require.NoError(t, s.AddSilence(t.Context(), silence(n)))
	}
	old, young := silence(9), silence(1)
	old.CreatedAt, young.CreatedAt = base.Add(-time.Microsecond), base.Add(time.Microsecond)
	require.NoError(t, s.AddSilence(t.Context(), old))
	require.NoError(t, s.AddSilence(t.Context(), young))
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{id(1), id(5), id(3), id(2), id(9)}, silenceIDs(all))
}

func silenceIDs(list []alerting.Silence) []string {
	ids := []string{}
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func testSilencesEndsAfter(t *testing.T, s alerting.SilenceStore) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1)))
	ends := silence(1).EndsAt
	for at, want := range map[time.Time]int{ends.Add(-time.Microsecond): 1, ends: 0, ends.Add(time.Hour): 0} {
		list, err := s.Silences(t.Context(), at)
		require.NoError(t, err)
		require.Len(t, list, want, "at %v", at)
	}
}

func testRemoveSilence(t *testing.T, s alerting.SilenceStore) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1)))
	require.NoError(t, s.AddSilence(t.Context(), silence(2)))
	require.NoError(t, s.RemoveSilence(t.Context(), id(1)))
	require.ErrorIs(t, s.RemoveSilence(t.Context(), id(1)), alerting.ErrSilenceNotFound)
	all, err := s.Silences(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Equal(t, []string{id(2)}, silenceIDs(all))
}

func testSilenceCancelled(t *testing.T, s alerting.SilenceStore) {
	require.Error(t, s.AddSilence(cancelled(t), silence(1)))
	_, err := s.Silences(cancelled(t), time.Time{})
	require.Error(t, err)
}

func testConcurrentRemove(t *testing.T, s alerting.SilenceStore) {
	require.NoError(t, s.AddSilence(t.Context(), silence(1)))
	var won atomic.Int32
	together(func(int) {
		switch err := s.RemoveSilence(t.Context(), id(1)); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, alerting.ErrSilenceNotFound):
			t.Errorf("remove: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
}

func testConcurrentSilences(t *testing.T, s alerting.SilenceStore) {
	const each = 10
	together(func(caller int) {
		for i := range each {
			if err := s.AddSilence(t.Context(), silence(caller*each+i)); err != nil {
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

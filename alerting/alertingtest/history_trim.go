package alertingtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

func testTrimRecords(t *testing.T, s historyStore) {
	limit := base.Add(time.Hour)
	reraised := record(4) // the condition of the first, again
	reraised.Key.Alarm, reraised.Source = recordKey(1).Alarm, record(1).Source
	young := record(5)
	young.Key.At = limit.Add(time.Second)
	apply(t, s, []alerting.Record{record(1), record(2), record(3), reraised, young},
		history.Completion{Key: recordKey(1), At: limit.Add(-time.Microsecond)},
		history.Completion{Key: recordKey(2), At: limit},
		history.Completion{Key: young.Key, At: limit.Add(time.Minute)})
	require.NoError(t, s.TrimRecords(t.Context(), base), "nothing is that old")
	require.Equal(t, []string{id(5), id(4), id(3), id(2), id(1)}, kept(t, s))
	require.NoError(t, s.TrimRecords(t.Context(), limit))
	require.Equal(t, []string{id(5), id(4), id(3), id(2)}, kept(t, s), "what fires is kept, however old")
	_, err := s.Record(t.Context(), id(1))
	require.ErrorIs(t, err, history.ErrNotFound)

	related, err := s.RelatedRecords(t.Context(), []alerting.RecordKey{recordKey(1)})
	require.NoError(t, err)
	require.Len(t, related.Records, 1)
	require.Equal(t, id(4), related.Records[0].ID)
	apply(t, s, nil, history.Completion{Key: reraised.Key, At: limit})
	got, err := s.Record(t.Context(), id(4))
	require.NoError(t, err)
	sameTime(t, limit, got.CompletedAt, "CompletedAt")
	require.Equal(t, record(1).Source, got.Source, "a source stays while a record has it")

	require.NoError(t, s.TrimRecords(t.Context(), limit.Add(time.Hour)))
	require.Equal(t, []string{id(3)}, kept(t, s))
	require.Error(t, s.TrimRecords(cancelled(t), limit))
	apply(t, s, []alerting.Record{record(1)}) // a source that was removed is stored again
	got, err = s.Record(t.Context(), id(1))
	require.NoError(t, err)
	sameRecord(t, record(1), got)
}

func testTrimMany(t *testing.T, s historyStore) {
	const n = 2500
	all := make([]alerting.Record, n)
	for i := range all {
		all[i] = record(i)
		all[i].Source = fmt.Sprintf("Press-%d", i/2)
		all[i].CompletedAt = all[i].Key.At
	}
	all[n-1].CompletedAt = time.Time{}
	apply(t, s, all)
	require.NoError(t, s.TrimRecords(t.Context(), base.Add(24*time.Hour)))
	require.Equal(t, []string{id(n - 1)}, kept(t, s))
	counts, err := s.CountBySource(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []history.SourceCount{{Source: all[n-1].Source, Count: 1}}, counts)
}

// kept returns the ids of the records, the newest first.
func kept(t *testing.T, s historyStore) []string {
	t.Helper()
	list, total, err := s.Records(t.Context(), history.Filter{}, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, len(list), total)
	ids := make([]string, 0, len(list))
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

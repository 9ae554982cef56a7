package alertingtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// TestHistoryStore runs the suite for a store of records. newStore gives an empty store each time it
// is called and cleans up with t.Cleanup.
func TestHistoryStore(t *testing.T, newStore func(testing.TB) alerting.HistoryStore) {
	t.Helper()
	runAll(t, newStore, []test[alerting.HistoryStore]{
		{"a record comes back as it was stored", testRecordRoundTrip},
		{"a record without maps comes back without", testRecordPlain},
		{"an unknown record is not found", testRecordUnknown},
		{"a repeat of a record changes nothing", testRecordRepeat},
		{"a record is completed once", testCompletion},
		{"a record may be added and completed in one call", testAddAndComplete},
		{"related records are those of the key and the open ones of the alarm", testRelated},
		{"records are listed newest first, in pages, without annotations", testRecordPages},
		{"filters choose by severity, part of the source and time", testRecordFilter},
		{"records are counted by severity", testCountBySeverity},
		{"records are counted by source", testCountBySource},
		{"a webhook of two senders raises one alarm and clears it", testSenders},
		{"exclusive work is done by one at a time", testExclusive},
		{"trimming removes what was completed before a time", testTrimRecords},
		{"trimming many leaves no source behind", testTrimMany},
		{"a cancelled context ends a call", testHistoryCancelled},
		{"a large batch is kept as a whole", testLargeBatch},
		{"of many that add one alert a single record stays", testConcurrentRecords},
	})
}

func recordKey(n int) alerting.RecordKey {
	return alerting.RecordKey{Alarm: fmt.Sprintf("webhook:%032x", n), At: base.Add(time.Duration(n) * time.Second)}
}

func record(n int) alerting.Record {
	return alerting.Record{
		ID: id(n), Key: recordKey(n), Severity: alarms.Warning, Source: fmt.Sprintf("Pump-%d", n), SourceType: "Equipment",
		Title: "Überhitzung 'a' \"b\" 100%_", Description: "line one\nline two", Labels: map[string]string{"job": "ä", "": "empty"},
		Annotations: map[string]string{"summary": "s"},
	}
}

func apply(t *testing.T, s alerting.HistoryStore, add []alerting.Record, complete ...alerting.Completion) {
	t.Helper()
	require.NoError(t, s.ApplyRecords(t.Context(), add, complete))
}

func sameRecord(t *testing.T, want, got alerting.Record) {
	t.Helper()
	sameTime(t, want.Key.At, got.Key.At, "Key.At")
	sameTime(t, want.CompletedAt, got.CompletedAt, "CompletedAt")
	got.Key.At, got.CompletedAt = want.Key.At, want.CompletedAt
	if len(want.Labels)+len(got.Labels) == 0 {
		got.Labels = want.Labels // nil and empty are one
	}
	if len(want.Annotations)+len(got.Annotations) == 0 {
		got.Annotations = want.Annotations
	}
	require.Equal(t, want, got)
}

func testRecordRoundTrip(t *testing.T, s alerting.HistoryStore) {
	apply(t, s, []alerting.Record{record(1), record(2)})
	got, err := s.Record(t.Context(), id(1))
	require.NoError(t, err)
	sameRecord(t, record(1), got)
}

func testRecordPlain(t *testing.T, s alerting.HistoryStore) {
	r := record(1)
	r.Labels, r.Annotations, r.Description, r.SourceType = nil, nil, "", ""
	for _, severity := range alarms.Severities() {
		r.ID, r.Key.Alarm, r.Severity = id(100+int(severity)), severity.String(), severity
		apply(t, s, []alerting.Record{r})
		got, err := s.Record(t.Context(), r.ID)
		require.NoError(t, err)
		sameRecord(t, r, got)
	}
}

func testRecordUnknown(t *testing.T, s alerting.HistoryStore) {
	_, err := s.Record(t.Context(), id(1))
	require.ErrorIs(t, err, alerting.ErrRecordNotFound)
}

func testRecordRepeat(t *testing.T, s alerting.HistoryStore) {
	repeat := record(1)
	repeat.ID, repeat.Title, repeat.Severity = id(77), "other", alarms.Critical
	apply(t, s, []alerting.Record{record(1), repeat}) // within a call
	apply(t, s, []alerting.Record{repeat})            // and by another one
	list, total, err := s.Records(t.Context(), alerting.RecordFilter{}, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	require.Equal(t, record(1).Title, list[0].Title)
	_, err = s.Record(t.Context(), id(77))
	require.ErrorIs(t, err, alerting.ErrRecordNotFound)
}

func testCompletion(t *testing.T, s alerting.HistoryStore) {
	ended := base.Add(time.Hour)
	apply(t, s, []alerting.Record{record(1), record(2)})
	apply(t, s, nil, alerting.Completion{Key: recordKey(1), At: ended})
	apply(t, s, nil, alerting.Completion{Key: recordKey(1), At: ended.Add(time.Hour)}) // too late
	apply(t, s, nil, alerting.Completion{Key: recordKey(3), At: ended})                // not there
	apply(t, s, []alerting.Record{record(1)})                                          // does not open it again
	for n, want := range map[int]time.Time{1: ended, 2: {}} {
		got, err := s.Record(t.Context(), id(n))
		require.NoError(t, err)
		sameTime(t, want, got.CompletedAt, "CompletedAt")
	}
}

func testAddAndComplete(t *testing.T, s alerting.HistoryStore) {
	ended := base.Add(time.Hour)
	apply(t, s, []alerting.Record{record(1)}, alerting.Completion{Key: recordKey(1), At: ended})
	got, err := s.Record(t.Context(), id(1))
	require.NoError(t, err)
	sameTime(t, ended, got.CompletedAt, "CompletedAt")

	complete := record(2)
	complete.CompletedAt = ended
	apply(t, s, []alerting.Record{complete})
	got, err = s.Record(t.Context(), id(2))
	require.NoError(t, err)
	sameRecord(t, complete, got)
}

func testRelated(t *testing.T, s alerting.HistoryStore) {
	second, third := record(2), record(3) // further alerts of the alarm of the first
	second.Key.Alarm, third.Key.Alarm = recordKey(1).Alarm, recordKey(1).Alarm
	apply(t, s, []alerting.Record{record(1), second, third, record(4), record(5)},
		alerting.Completion{Key: recordKey(1), At: base.Add(time.Hour)},
		alerting.Completion{Key: second.Key, At: base.Add(time.Hour)},
		alerting.Completion{Key: recordKey(4), At: base.Add(time.Hour)})

	related := func(keys ...alerting.RecordKey) []string {
		list, err := s.RelatedRecords(t.Context(), keys)
		require.NoError(t, err)
		ids := []string{}
		for _, r := range list {
			ids = append(ids, r.ID)
			require.Equal(t, r.ID == id(3) || r.ID == id(5), r.CompletedAt.IsZero(), r.ID)
			require.NotEmpty(t, r.Key.Alarm)
			require.False(t, r.Key.At.IsZero())
		}
		slices.Sort(ids)
		return ids
	}
	require.Equal(t, []string{id(1), id(3)}, related(recordKey(1)))
	require.Equal(t, []string{id(3)}, related(third.Key, third.Key))
	require.Equal(t, []string{id(3)}, related(alerting.RecordKey{Alarm: recordKey(1).Alarm, At: base.Add(99 * time.Hour)}))
	require.Equal(t, []string{id(1), id(3), id(4), id(5)}, related(recordKey(1), recordKey(4), recordKey(5), recordKey(6)))
	require.Empty(t, related(recordKey(6)))
	require.Empty(t, related())

	many := make([]alerting.RecordKey, 0, 3000)
	for n := range 3000 {
		many = append(many, recordKey(n))
	}
	require.Equal(t, []string{id(1), id(3), id(4), id(5)}, related(many...))
}

func testRecordPages(t *testing.T, s alerting.HistoryStore) {
	var all []alerting.Record
	for _, n := range []int{3, 1, 5, 2, 4} {
		all = append(all, record(n))
	}
	twin := record(6) // raised with record 5: the id decides
	twin.Key.At = recordKey(5).At
	apply(t, s, append(all, twin))
	for _, c := range []struct {
		offset, limit int
		want          []string
	}{
		{0, 10, []string{id(6), id(5), id(4), id(3), id(2), id(1)}},
		{0, 2, []string{id(6), id(5)}},
		{2, 2, []string{id(4), id(3)}},
		{5, 2, []string{id(1)}},
		{6, 2, nil},
		{600, 2, nil},
	} {
		list, total, err := s.Records(t.Context(), alerting.RecordFilter{}, c.offset, c.limit)
		require.NoError(t, err)
		require.EqualValues(t, 6, total)
		var ids []string
		for _, r := range list {
			ids = append(ids, r.ID)
			require.Empty(t, r.Annotations)
			require.Equal(t, record(1).Labels, r.Labels)
		}
		require.Equal(t, c.want, ids, "%d after %d", c.limit, c.offset)
	}
}

func testRecordFilter(t *testing.T, s alerting.HistoryStore) {
	var all []alerting.Record
	for n, source := range []string{"Pump-A", "pump-b", "Valve_1", "VALVE%2", "Überlauf", "a'b"} {
		r := record(n)
		r.Source, r.Severity = source, alarms.Severity(n%4)
		all = append(all, r)
	}
	apply(t, s, all)
	for _, c := range []struct {
		name   string
		filter alerting.RecordFilter
		want   []int
	}{
		{"nothing", alerting.RecordFilter{}, []int{5, 4, 3, 2, 1, 0}},
		{"one severity", alerting.RecordFilter{Severities: alarms.SetOf(alarms.Warning)}, []int{5, 1}},
		{"two severities", alerting.RecordFilter{Severities: alarms.SetOf(alarms.Error, alarms.Critical)}, []int{3, 2}},
		{"part of the source", alerting.RecordFilter{Source: "UMP-"}, []int{1, 0}},
		{"percent stands for itself", alerting.RecordFilter{Source: "%"}, []int{3}},
		{"underscore stands for itself", alerting.RecordFilter{Source: "_"}, []int{2}},
		{"a quote stands for itself", alerting.RecordFilter{Source: "A'B"}, []int{5}},
		{"case of other letters", alerting.RecordFilter{Source: "überl"}, []int{4}},
		{"no such source", alerting.RecordFilter{Source: "pump-c"}, nil},
		{"from, included", alerting.RecordFilter{From: recordKey(4).At}, []int{5, 4}},
		{"to, left out", alerting.RecordFilter{To: recordKey(2).At}, []int{1, 0}},
		{"range", alerting.RecordFilter{From: recordKey(1).At, To: recordKey(3).At}, []int{2, 1}},
		{"all together", alerting.RecordFilter{Severities: alarms.SetOf(alarms.Info), Source: "p", From: base, To: base.Add(time.Second)}, []int{0}},
	} {
		list, total, err := s.Records(t.Context(), c.filter, 0, 100)
		require.NoError(t, err, c.name)
		var got []int
		for _, r := range list {
			got = append(got, slices.IndexFunc(all, func(a alerting.Record) bool { return a.ID == r.ID }))
		}
		require.Equal(t, c.want, got, c.name)
		require.EqualValues(t, len(c.want), total, c.name)
	}
}

func testCountBySeverity(t *testing.T, s alerting.HistoryStore) {
	count := func(from, to time.Time) map[alarms.Severity]int64 {
		rows, err := s.CountBySeverity(t.Context(), from, to)
		require.NoError(t, err)
		counts := make(map[alarms.Severity]int64)
		for _, r := range rows {
			require.NotContains(t, counts, r.Severity)
			if r.Count != 0 {
				counts[r.Severity] = r.Count
			}
		}
		return counts
	}
	require.Empty(t, count(time.Time{}, time.Time{}))
	var all []alerting.Record
	for n := range 10 {
		r := record(n)
		r.Severity = []alarms.Severity{alarms.Info, alarms.Info, alarms.Critical, alarms.Error, alarms.Warning}[n%5]
		all = append(all, r)
	}
	apply(t, s, all)
	require.Equal(t, map[alarms.Severity]int64{alarms.Info: 4, alarms.Warning: 2, alarms.Error: 2, alarms.Critical: 2}, count(time.Time{}, time.Time{}))
	require.Equal(t, map[alarms.Severity]int64{alarms.Info: 1, alarms.Critical: 1}, count(recordKey(1).At, recordKey(3).At))
	require.Equal(t, map[alarms.Severity]int64{alarms.Info: 2}, count(time.Time{}, recordKey(2).At))
	require.Equal(t, map[alarms.Severity]int64{alarms.Warning: 1}, count(recordKey(9).At, time.Time{}))
}

func testCountBySource(t *testing.T, s alerting.HistoryStore) {
	count := func(from, to time.Time) map[string]int64 {
		rows, err := s.CountBySource(t.Context(), from, to)
		require.NoError(t, err)
		counts := make(map[string]int64)
		for _, r := range rows {
			require.NotContains(t, counts, r.Source)
			counts[r.Source] = r.Count
		}
		return counts
	}
	require.Empty(t, count(time.Time{}, time.Time{}))
	var all []alerting.Record
	for n := range 6 {
		r := record(n)
		r.Source = []string{"Pump", "pump", "Ventil ß"}[n%3]
		all = append(all, r)
	}
	apply(t, s, all)
	require.Equal(t, map[string]int64{"Pump": 2, "pump": 2, "Ventil ß": 2}, count(time.Time{}, time.Time{}))
	require.Equal(t, map[string]int64{"pump": 1}, count(recordKey(1).At, recordKey(2).At))
}

func testHistoryCancelled(t *testing.T, s alerting.HistoryStore) {
	require.Error(t, s.ApplyRecords(cancelled(t), []alerting.Record{record(1)}, nil))
	_, _, err := s.Records(cancelled(t), alerting.RecordFilter{}, 0, 1)
	require.Error(t, err)
	_, err = s.Record(t.Context(), id(1))
	require.ErrorIs(t, err, alerting.ErrRecordNotFound)
}

func testLargeBatch(t *testing.T, s alerting.HistoryStore) {
	const n = 1500
	var (
		all  []alerting.Record
		done []alerting.Completion
	)
	for i := range n {
		all = append(all, record(i))
		done = append(done, alerting.Completion{Key: recordKey(i), At: base.Add(24 * time.Hour)})
	}
	apply(t, s, all, done[:n/2]...)
	apply(t, s, all, done...)
	list, total, err := s.Records(t.Context(), alerting.RecordFilter{}, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, n, total)
	require.Len(t, list, 100)
	for _, r := range list {
		sameTime(t, base.Add(24*time.Hour), r.CompletedAt, "CompletedAt")
	}
}

func testConcurrentRecords(t *testing.T, s alerting.HistoryStore) {
	const alerts = 20
	together(func(caller int) {
		for n := range alerts {
			r := record(n)
			r.ID = freshID()
			if err := s.ApplyRecords(t.Context(), []alerting.Record{r}, nil); err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
			if err := s.ApplyRecords(t.Context(), nil, []alerting.Completion{{Key: r.Key, At: base.Add(time.Hour)}}); err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
		}
	})
	list, total, err := s.Records(t.Context(), alerting.RecordFilter{}, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, alerts, total)
	for _, r := range list {
		sameTime(t, base.Add(time.Hour), r.CompletedAt, "CompletedAt")
	}
}

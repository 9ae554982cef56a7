package alertingtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

// TestHistoryStore runs the suite for a store of records. newStore returns an empty store each time it
// is called, and cleans up with t.Cleanup.
func TestHistoryStore(t *testing.T, newStore func(testing.TB) history.Store) {
	t.Helper()
	runAll(t, func(t testing.TB) historyStore { return historyStore{newStore(t), t} }, []test[historyStore]{
		{"a record comes back as it was stored", testRecordRoundTrip},
		{"a record without maps comes back without", testRecordPlain},
		{"an unknown record is not found", testRecordUnknown},
		{"a repeat of a record changes nothing", testRecordRepeat},
		{"an update replaces texts and annotations", testRecordUpdate},
		{"a record is completed once", testCompletion},
		{"a record may be added and completed in one call", testAddAndComplete},
		{"related records are those of the key and the open ones of the alarm", testRelated},
		{"the last end of an alarm is kept until it is trimmed", testEnds},
		{"firing after resolved begins again at the sender that told the end", testFiringAgain},
		{"records are listed newest first, in pages, without annotations", testRecordPages},
		{"a list shows little of a large record", testBriefRecords},
		{"filters choose by severity, part of the source and time", testRecordFilter},
		{"filters choose by text, state and labels", testRecordSearch},
		{"pages of thousands of records are exact", testRecordManyPages},
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

func apply(t *testing.T, s history.Store, add []alerting.Record, complete ...history.Completion) {
	t.Helper()
	require.NoError(t, s.ApplyRecords(t.Context(), history.Changes{Add: add, Complete: complete}))
}

func sameRecord(t *testing.T, want, got alerting.Record) {
	t.Helper()
	sameTime(t, want.Key.At, got.Key.At, "Key.At")
	sameTime(t, want.CompletedAt, got.CompletedAt, "CompletedAt")
	got.Key.At, got.CompletedAt = want.Key.At, want.CompletedAt
	if len(want.Labels)+len(got.Labels) == 0 {
		got.Labels = want.Labels // nil and empty are equal
	}
	if len(want.Annotations)+len(got.Annotations) == 0 {
		got.Annotations = want.Annotations
	}
	require.Equal(t, want, got)
}

func testRecordRoundTrip(t *testing.T, s historyStore) {
	apply(t, s, []alerting.Record{record(1), record(2)})
	got, err := s.Record(t.Context(), id(1))
	require.NoError(t, err)
	sameRecord(t, record(1), got)
}

func testRecordPlain(t *testing.T, s historyStore) {
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

func testRecordUnknown(t *testing.T, s historyStore) {
	_, err := s.Record(t.Context(), id(1))
	require.ErrorIs(t, err, history.ErrNotFound)
}

func testRecordRepeat(t *testing.T, s historyStore) {
	repeat := record(1)
	repeat.ID, repeat.Title, repeat.Severity = id(77), "other", alarms.Critical
	apply(t, s, []alerting.Record{record(1), repeat}) // within a call
	apply(t, s, []alerting.Record{repeat})            // and by another one
	list, total, err := s.Records(t.Context(), history.Filter{}, 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	require.Equal(t, record(1).Title, list[0].Title)
	_, err = s.Record(t.Context(), id(77))
	require.ErrorIs(t, err, history.ErrNotFound)
}

func testCompletion(t *testing.T, s historyStore) {
	ended := base.Add(time.Hour)
	apply(t, s, []alerting.Record{record(1), record(2)})
	apply(t, s, nil, history.Completion{Key: recordKey(1), At: ended})
	apply(t, s, nil, history.Completion{Key: recordKey(1), At: ended.Add(time.Hour)}) // too late
	apply(t, s, nil, history.Completion{Key: recordKey(3), At: ended})                // missing
	apply(t, s, []alerting.Record{record(1)})                                         // stays complete
	for n, want := range map[int]time.Time{1: ended, 2: {}} {
		got, err := s.Record(t.Context(), id(n))
		require.NoError(t, err)
		sameTime(t, want, got.CompletedAt, "CompletedAt")
	}
}

func testAddAndComplete(t *testing.T, s historyStore) {
	ended := base.Add(time.Hour)
	apply(t, s, []alerting.Record{record(1)}, history.Completion{Key: recordKey(1), At: ended})
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

func testRecordUpdate(t *testing.T, s historyStore) {
	apply(t, s, []alerting.Record{record(1), record(2)})
	want := record(1)
	want.Title, want.Description, want.Annotations = "'new'", "", map[string]string{"a": "ä"}
	want.Truncated, want.Digest = []string{"annotations"}, "d2"
	first := want
	first.Title, first.Digest = "older", "d1"
	require.NoError(t, s.ApplyRecords(t.Context(), history.Changes{Update: []alerting.Record{first, want, record(3)}}))
	got, err := s.Record(t.Context(), id(1))
	require.NoError(t, err)
	sameRecord(t, want, got)
	got, err = s.Record(t.Context(), id(2))
	require.NoError(t, err)
	sameRecord(t, record(2), got)
	found, err := s.RelatedRecords(t.Context(), []alerting.RecordKey{recordKey(1), recordKey(3)})
	require.NoError(t, err)
	require.Len(t, found.Records, 1, "an update adds nothing")
	require.Equal(t, "d2", found.Records[0].Digest)
}

func testBriefRecords(t *testing.T, s historyStore) {
	large := record(2)
	large.Title, large.Description = strings.Repeat("ä", 4000), strings.Repeat("d", 8000)
	large.Truncated = []string{"annotations", "description"}
	large.Labels = map[string]string{alerting.LabelSilencedBy: id(9)}
	for n := range 99 {
		large.Labels[fmt.Sprintf("label %02d", n)] = strings.Repeat("v", 8<<10)
	}
	apply(t, s, []alerting.Record{record(1), large, record(3)})
	for offset := range 3 { // each page has one
		page, total, err := s.Records(t.Context(), history.Filter{}, offset, 1)
		require.NoError(t, err)
		require.EqualValues(t, 3, total)
		require.Equal(t, id(3-offset), page[0].ID)
	}
	page, _, err := s.Records(t.Context(), history.Filter{}, 0, 10)
	require.NoError(t, err)
	require.Equal(t, record(1).Labels, page[2].Labels)
	require.Empty(t, page[2].Truncated)
	brief := page[1]
	size := len(brief.Title) + len(brief.Description)
	for name, value := range brief.Labels {
		size += len(name) + len(value)
	}
	require.Less(t, size, 6<<10)
	require.Equal(t, id(9), brief.Labels[alerting.LabelSilencedBy])
	require.Contains(t, brief.Labels, "label 00")
	require.ElementsMatch(t, []string{"description", "title", "labels"}, brief.Truncated)
	whole, err := s.Record(t.Context(), id(2))
	require.NoError(t, err)
	require.Equal(t, large.Labels, whole.Labels)
	require.Equal(t, large.Title, whole.Title)
	require.Equal(t, large.Truncated, whole.Truncated)
}

func testRelated(t *testing.T, s historyStore) {
	second, third := record(2), record(3) // further alerts of the alarm of the first
	second.Key.Alarm, third.Key.Alarm = recordKey(1).Alarm, recordKey(1).Alarm
	apply(t, s, []alerting.Record{record(1), second, third, record(4), record(5)},
		history.Completion{Key: recordKey(1), At: base.Add(time.Hour)},
		history.Completion{Key: second.Key, At: base.Add(time.Hour)},
		history.Completion{Key: recordKey(4), At: base.Add(time.Hour)})

	related := func(keys ...alerting.RecordKey) []string {
		found, err := s.RelatedRecords(t.Context(), keys)
		require.NoError(t, err)
		ids := []string{}
		for _, r := range found.Records {
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

func testRecordPages(t *testing.T, s historyStore) {
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
		list, total, err := s.Records(t.Context(), history.Filter{}, c.offset, c.limit)
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

func testRecordFilter(t *testing.T, s historyStore) {
	var all []alerting.Record
	for n, source := range []string{"Pump-A", "pump-b", "Valve_1", "VALVE%2", "Überlauf", "a'b"} {
		r := record(n)
		r.Source, r.Severity = source, alarms.Severity(n%4)
		all = append(all, r)
	}
	apply(t, s, all)
	for _, c := range []struct {
		name   string
		filter history.Filter
		want   []int
	}{
		{"nothing", history.Filter{}, []int{5, 4, 3, 2, 1, 0}},
		{"one severity", history.Filter{Severities: alarms.SetOf(alarms.Warning)}, []int{5, 1}},
		{"two severities", history.Filter{Severities: alarms.SetOf(alarms.Error, alarms.Critical)}, []int{3, 2}},
		{"part of the source", history.Filter{Source: "UMP-"}, []int{1, 0}},
		{"percent stands for itself", history.Filter{Source: "%"}, []int{3}},
		{"underscore stands for itself", history.Filter{Source: "_"}, []int{2}},
		{"a quote stands for itself", history.Filter{Source: "A'B"}, []int{5}},
		{"case of other letters", history.Filter{Source: "überl"}, []int{4}},
		{"no such source", history.Filter{Source: "pump-c"}, nil},
		{"from, included", history.Filter{From: recordKey(4).At}, []int{5, 4}},
		{"to, left out", history.Filter{To: recordKey(2).At}, []int{1, 0}},
		{"range", history.Filter{From: recordKey(1).At, To: recordKey(3).At}, []int{2, 1}},
		{"all together", history.Filter{Severities: alarms.SetOf(alarms.Info), Source: "p", From: base, To: base.Add(time.Second)}, []int{0}},
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

func testCountBySeverity(t *testing.T, s historyStore) {
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

func testCountBySource(t *testing.T, s historyStore) {
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

func testHistoryCancelled(t *testing.T, s historyStore) {
	require.Error(t, s.ApplyRecords(cancelled(t), history.Changes{Add: []alerting.Record{record(1)}}))
	_, _, err := s.Records(cancelled(t), history.Filter{}, 0, 1)
	require.Error(t, err)
	_, err = s.Record(t.Context(), id(1))
	require.ErrorIs(t, err, history.ErrNotFound)
}

func testLargeBatch(t *testing.T, s historyStore) {
	const n = 1500
	var (
		all  []alerting.Record
		done []history.Completion
	)
	for i := range n {
		all = append(all, record(i))
		done = append(done, history.Completion{Key: recordKey(i), At: base.Add(24 * time.Hour)})
	}
	apply(t, s, all, done[:n/2]...)
	apply(t, s, all, done...)
	list, total, err := s.Records(t.Context(), history.Filter{}, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, n, total)
	require.Len(t, list, 100)
	for _, r := range list {
		sameTime(t, base.Add(24*time.Hour), r.CompletedAt, "CompletedAt")
	}
}

func testConcurrentRecords(t *testing.T, s historyStore) {
	const alerts = 20
	together(func(caller int) {
		for n := range alerts {
			r := record(n)
			r.ID = freshID()
			if err := s.ApplyRecords(t.Context(), history.Changes{Add: []alerting.Record{r}}); err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
			if err := s.ApplyRecords(t.Context(), history.Changes{Complete: []history.Completion{{Key: r.Key, At: base.Add(time.Hour)}}}); err != nil {
				t.Errorf("caller %d: %v", caller, err)
			}
		}
	})
	list, total, err := s.Records(t.Context(), history.Filter{}, 0, 100)
	require.NoError(t, err)
	require.EqualValues(t, alerts, total)
	for _, r := range list {
		sameTime(t, base.Add(time.Hour), r.CompletedAt, "CompletedAt")
	}
}

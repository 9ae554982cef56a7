package alarmstest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func testOrder(t *testing.T, s *store) {
	// The clock goes back by an hour between the first and the second occurrence of one condition.
	want := []int64{7, 1, 5, 3}
	for i, at := range []time.Time{noon, noon.Add(-time.Hour), noon.Add(-30 * time.Minute), noon.Add(time.Minute)} {
		o := s.raise(t, at, nil, "a")[0]
		s.clear(t, alarms.ByKey("a"), at)
		require.Equal(t, int64(2*i+1), o.Seq)
	}
	require.Equal(t, want, seqs(s.all(t)), "newest first is by the time of the raise")
	require.Equal(t, want, seqs(s.query(t, alarms.Query{Start: noon.Add(-2 * time.Hour), End: noon.Add(2 * time.Hour), Limit: 10}).Occurrences))
	if statistics, ok := s.Store.(alarms.Statistics); ok {
		var intervals []int64
		for i, err := range statistics.ActiveIntervals(t.Context(), noon.Add(-2*time.Hour), noon.Add(2*time.Hour)) {
			require.NoError(t, err)
			intervals = append(intervals, i.Seq)
		}
		require.Equal(t, []int64{1, 3, 5, 7}, intervals)
	}
	c, err := s.Condition(t.Context(), alarms.ByKey("a"))
	require.NoError(t, err)
	require.EqualValues(t, 7, c.Last.Seq)
	require.Equal(t, []int64{7}, seqs(s.query(t, alarms.Query{Code: c.Code, Limit: 1}).Occurrences))

	// What began at one time is in the order of the journal, also from page to page.
	same := s.raise(t, noon, nil, "b", "c", "d")
	want = []int64{7, same[2].Seq, same[1].Seq, same[0].Seq, 1, 5, 3}
	require.Equal(t, want, seqs(s.all(t)))
	var paged []int64
	for q := (alarms.Query{Limit: 2}); ; {
		p := s.query(t, q)
		if len(p.Occurrences) == 0 {
			break
		}
		paged = append(paged, seqs(p.Occurrences)...)
		q.Before = p.Occurrences[len(p.Occurrences)-1].Position()
	}
	require.Equal(t, want, paged)
	require.Equal(t, []int64{same[0].Seq, 1}, seqs(s.query(t, alarms.Query{Offset: 3, Limit: 2}).Occurrences))
}

func testFilters(t *testing.T, s *store) {
	var keys []string
	for i := range 64 {
		keys = append(keys, fmt.Sprintf("k%d", i))
	}
	all := s.raise(t, noon, func(i int, o *alarms.Occurrence) {
		o.Severity = alarms.Severity(i % 4)
		if i&4 != 0 {
			o.AcknowledgedAt, o.AcknowledgedBy = noon, "anna"
		}
		if i&8 != 0 {
			o.Active, o.ClearedAt = false, noon
		}
		if i&16 != 0 {
			o.Suppression = alarms.SuppressionByDesign
		}
	}, keys...)
	for _, q := range []alarms.Query{
		{},
		{Active: true},
		{Unacknowledged: true},
		{Active: true, Unacknowledged: true},
		{Acknowledged: true},
		{Active: true, Acknowledged: true, Severities: alarms.SetOf(alarms.Critical)},
		{Suppressed: alarms.ExcludeSuppressed},
		{Suppressed: alarms.OnlySuppressed},
		{Severities: alarms.SetOf(alarms.Error, alarms.Critical)},
		{Severities: alarms.SetOf(alarms.Info)},
		{Active: true, Unacknowledged: true, Suppressed: alarms.ExcludeSuppressed, Severities: alarms.SetOf(alarms.Warning)},
		{Code: all[7].Code},
		{Code: all[7].Code, Active: true, Unacknowledged: true},
		{Code: 1 << 40},
		{Before: all[20].Position()},
		{Active: true, Suppressed: alarms.ExcludeSuppressed, Start: noon, End: noon.Add(time.Second)},
	} {
		var want []int64
		total := 0
		for i := len(all) - 1; i >= 0; i-- {
			o := all[i]
			if q.Active && !o.Active || q.Unacknowledged && o.Acknowledged() || q.Acknowledged && !o.Acknowledged() || !q.Severities.Has(o.Severity) ||
				q.Suppressed == alarms.ExcludeSuppressed && o.Suppression != 0 || q.Suppressed == alarms.OnlySuppressed && o.Suppression == 0 ||
				q.Code != 0 && q.Code != o.Code {
				continue
			}
			total++
			if q.Before.Seq == 0 || o.Seq < q.Before.Seq {
				want = append(want, o.Seq)
			}
		}
		q.Limit, q.Count = 100, true
		p := s.query(t, q)
		require.Len(t, p.Occurrences, len(want), "%v", described(q))
		if len(want) > 0 {
			require.Equal(t, want, seqs(p.Occurrences), "%v", described(q))
		}
		require.Equal(t, total, p.Total, "%v", described(q))
	}
}

func testPaging(t *testing.T, s *store) {
	keys := make([]string, 57)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	all := s.raise(t, noon, nil, keys...)
	for _, size := range []int{1, 10, 57, 100} {
		var byOffset, byKey []int64
		for page := 0; page*size < len(all); page++ {
			p := s.query(t, alarms.Query{Active: true, Offset: page * size, Limit: size, Count: true})
			require.Equal(t, len(all), p.Total)
			byOffset = append(byOffset, seqs(p.Occurrences)...)
		}
		for q := (alarms.Query{Limit: size}); ; {
			p := s.query(t, q)
			byKey = append(byKey, seqs(p.Occurrences)...)
			if len(p.Occurrences) < size {
				break
			}
			q.Before = p.Occurrences[size-1].Position()
		}
		require.Equal(t, seqs(s.all(t)), byOffset, "pages of %d", size)
		require.Equal(t, byOffset, byKey, "pages of %d", size)
	}
	beyond := s.query(t, alarms.Query{Offset: 1000, Limit: 10, Count: true})
	require.Empty(t, beyond.Occurrences)
	require.Equal(t, len(all), beyond.Total)
	none := s.query(t, alarms.Query{Count: true})
	require.Empty(t, none.Occurrences)
	require.Equal(t, len(all), none.Total)
}

func testTimeRanges(t *testing.T, s *store) {
	var all []alarms.Occurrence
	for i := range 6 {
		all = append(all, s.raise(t, noon.Add(time.Duration(i)*time.Minute), nil, fmt.Sprintf("k%d", i))...)
	}
	at := func(i int) time.Time { return all[i].RaisedAt }
	for _, c := range []struct {
		name       string
		start, end time.Time
		want       []int
	}{
		{"start inclusive, end exclusive", at(1), at(4), []int{1, 2, 3}},
		{"one microsecond later", at(1).Add(time.Microsecond), at(4).Add(time.Microsecond), []int{2, 3, 4}},
		{"no start", time.Time{}, at(2), []int{0, 1}},
		{"no end", at(4), time.Time{}, []int{4, 5}},
		{"another zone", at(1).In(time.FixedZone("", 9*3600)), at(3).In(time.FixedZone("", -3*3600)), []int{1, 2}},
		{"before all", at(0).Add(-time.Hour), at(0), nil},
		{"after all", at(5).Add(time.Microsecond), at(5).Add(time.Hour), nil},
	} {
		p := s.query(t, alarms.Query{Start: c.start, End: c.end, Limit: 100, Count: true})
		require.Equal(t, backward(all, c.want...), seqs(p.Occurrences), c.name)
		require.Equal(t, len(c.want), p.Total, c.name)
	}
}

func testEvents(t *testing.T, s *store) {
	s.raise(t, noon, nil, "a", "b", "c")
	s.clear(t, alarms.ByKey("b"), noon.Add(-time.Hour)) // the clock was set back
	s.acknowledge(t, alarms.ByKey("c"), noon)
	s.change(t, alarms.ByKey("a"), noon, alarms.Shelved, func(f alarms.RefResult) {})
	all := s.events(t)
	require.Equal(t, []int64{1, 2, 3, 4, 5, 6}, numbers(all), "the journal has no gap")
	require.Equal(t, alarms.Cleared, all[3].Kind)
	for _, c := range []struct {
		after int64
		limit int
		want  []alarms.Event
	}{{0, 2, all[:2]}, {2, 2, all[2:4]}, {4, 100, all[4:]}, {6, 100, nil}, {100, 100, nil}, {0, 0, nil}, {-5, 1, all[:1]}} {
		got, err := s.Events(t.Context(), c.after, c.limit)
		require.NoError(t, err)
		require.Equal(t, numbers(c.want), numbers(got), "sequence numbers of at most %d events after %d", c.limit, c.after)
		for i := range got {
			require.Equal(t, c.want[i].ID, got[i].ID)
		}
	}
}

func testEventsOf(t *testing.T, s *store) {
	journal := optional[alarms.EventLister](t, s)
	first := s.raise(t, noon, nil, "a", "b")[0]
	s.acknowledge(t, alarms.ByKey("a"), noon)
	s.acknowledge(t, alarms.ByKey("b"), noon)
	s.clear(t, alarms.ByKey("a"), noon)
	again := s.raise(t, noon.Add(time.Minute), nil, "a")[0]
	kinds := func(seq int64, offset, limit, total int) (list []alarms.EventKind) {
		t.Helper()
		events, n, err := journal.EventsOf(t.Context(), seq, offset, limit)
		require.NoError(t, err)
		require.Equal(t, total, n)
		for _, e := range events {
			require.Equal(t, seq, e.Occurrence.Seq)
			list = append(list, e.Kind)
		}
		return list
	}
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Acknowledged, alarms.Cleared}, kinds(first.Seq, 0, 10, 3))
	require.Equal(t, []alarms.EventKind{alarms.Acknowledged}, kinds(first.Seq, 1, 1, 3))
	require.Empty(t, kinds(first.Seq, 3, 10, 3))
	require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(again.Seq, 0, 10, 1))
	require.Empty(t, kinds(4711, 0, 10, 0))
}

func testSuppression(t *testing.T, s *store) {
	until := noon.Add(time.Hour + time.Microsecond)
	s.raise(t, noon, nil, "b", "z", "a")
	shelve := func(f alarms.RefResult) {
		f.Condition.Suppression, f.Condition.ShelvedUntil, f.Condition.ShelvedBy = alarms.SuppressionShelved, until, "anna"
		f.Condition.SuppressedBy, f.Condition.SuppressedAt, f.Condition.SuppressionComment = "anna", noon, "in repair"
		if f.Occurrence != nil {
			f.Occurrence.Suppression = f.Condition.Suppression
		}
	}
	// Neither the order of keys nor that of changes is that of codes.
	keys := []string{"b", "z", "never raised"}
	s.change(t, alarms.ByKey(keys[1]), noon, alarms.Shelved, shelve)
	s.change(t, alarms.ByKey(keys[0]), noon, alarms.Shelved, shelve)
	s.change(t, alarms.Ref{Key: keys[2], Create: true}, noon, alarms.Shelved, shelve)
	list, err := s.SuppressedConditions(t.Context())
	require.NoError(t, err)
	require.Len(t, list, len(keys))
	for i, key := range keys {
		require.Equal(t, key, list[i].Key, "SuppressedConditions: not in the order of codes")
		require.Equal(t, alarms.SuppressionShelved, list[i].Suppression)
		require.True(t, until.Equal(list[i].ShelvedUntil), "ShelvedUntil was not stored")
		require.Equal(t, "anna", list[i].ShelvedBy)
		require.Equal(t, "anna", list[i].SuppressedBy)
		require.True(t, noon.Equal(list[i].SuppressedAt))
		require.Equal(t, "in repair", list[i].SuppressionComment)
	}
	require.NotNil(t, list[0].Last, "Condition.Last was not stored")
	require.Equal(t, alarms.SuppressionShelved, list[0].Last.Suppression)
	require.Nil(t, list[2].Last)
	events := s.events(t)
	last := events[len(events)-1]
	require.Empty(t, last.Occurrence.ID)
	require.Equal(t, list[2].Code, last.Occurrence.Code)

	for _, key := range keys {
		s.change(t, alarms.ByKey(key), noon, alarms.Unshelved, func(f alarms.RefResult) {
			f.Condition.Suppression, f.Condition.ShelvedUntil, f.Condition.ShelvedBy = 0, time.Time{}, ""
			if f.Occurrence != nil {
				f.Occurrence.Suppression = 0
			}
		})
	}
	list, err = s.SuppressedConditions(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	c, err := s.Condition(t.Context(), alarms.ByKey("b"))
	require.NoError(t, err)
	require.True(t, c.ShelvedUntil.IsZero())
}

func testHourlyCounts(t *testing.T, s *store) {
	statistics := optional[alarms.Statistics](t, s)
	none, err := statistics.HourlyCounts(t.Context(), noon, noon.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, none)
	hour := noon
	for i, at := range []time.Time{hour.Add(-time.Microsecond), hour, hour.Add(time.Hour - time.Microsecond), hour.Add(3 * time.Hour), hour.Add(3*time.Hour + time.Minute)} {
		s.raise(t, at, func(_ int, o *alarms.Occurrence) { o.Severity = alarms.Severity(i % 4) }, fmt.Sprintf("k%d", i))
	}
	got, err := statistics.HourlyCounts(t.Context(), hour.Add(-time.Hour), hour.Add(24*time.Hour))
	require.NoError(t, err)
	want := []alarms.HourlyCount{
		{Start: hour.Add(-time.Hour), Counts: [4]int{1, 0, 0, 0}},
		{Start: hour, Counts: [4]int{0, 1, 1, 0}},
		{Start: hour.Add(3 * time.Hour), Counts: [4]int{1, 0, 0, 1}},
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, want[i].Start.Equal(got[i].Start), "hour %d is %v", i, got[i].Start)
		require.Equal(t, want[i].Counts, got[i].Counts, "hour %d", i)
	}
	got, err = statistics.HourlyCounts(t.Context(), hour.Add(time.Microsecond), hour.Add(3*time.Hour+time.Microsecond))
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, [4]int{0, 0, 1, 0}, got[0].Counts, "the range cuts its first hour")
	require.Equal(t, [4]int{0, 0, 0, 1}, got[1].Counts, "the range cuts its last hour")
}

func testActiveIntervals(t *testing.T, s *store) {
	statistics := optional[alarms.Statistics](t, s)
	for l, err := range statistics.ActiveIntervals(t.Context(), noon, noon.Add(time.Hour)) {
		require.Fail(t, "ActiveIntervals of an empty store yields", "%+v, error %v", l, err)
	}
	const n = 2500
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", i)
	}
	all := s.raise(t, noon, func(i int, o *alarms.Occurrence) {
		o.RaisedAt = noon.Add(time.Duration(i) * time.Second)
		if i%2 == 0 {
			o.Active, o.ClearedAt = false, o.RaisedAt.Add(time.Minute)
		}
	}, keys...)
	i := 10
	for l, err := range statistics.ActiveIntervals(t.Context(), all[10].RaisedAt, all[n-10].RaisedAt) {
		require.NoError(t, err)
		require.Equal(t, all[i].Seq, l.Seq)
		require.Equal(t, all[i].Code, l.Code)
		require.True(t, all[i].RaisedAt.Equal(l.RaisedAt))
		require.True(t, all[i].ClearedAt.Equal(l.ClearedAt))
		require.Equal(t, all[i].Active, l.ClearedAt.IsZero())
		i++
	}
	require.Equal(t, n-10, i)
	for _, err := range statistics.ActiveIntervals(t.Context(), noon, noon.Add(time.Hour)) {
		require.NoError(t, err)
		break // a reader may stop early
	}
	s.raise(t, noon, nil, "afterwards")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var failed error
	for _, err := range statistics.ActiveIntervals(ctx, noon, noon.Add(time.Hour)) {
		failed = err
	}
	require.Error(t, failed)
}

func testTrim(t *testing.T, s *store) {
	trimmer := optional[alarms.Trimmer](t, s)
	require.NoError(t, trimmer.Trim(t.Context(), noon), "of an empty store")
	at := func(h int) time.Time { return noon.Add(time.Duration(h) * time.Hour) }
	old := s.raise(t, at(0), nil, "a")[0]
	s.clear(t, alarms.ByKey("a"), at(1))
	newest := s.raise(t, at(2), nil, "a")[0]
	s.clear(t, alarms.ByKey("a"), at(3))
	active := s.raise(t, at(0), nil, "b")[0]
	late := s.raise(t, at(0), nil, "c")[0]
	s.clear(t, alarms.ByKey("c"), at(10))
	s.raise(t, at(11), nil, "c")
	s.change(t, alarms.ByKey("a"), at(3), alarms.OutOfService, func(f alarms.RefResult) {
		f.Condition.Suppression = alarms.SuppressionOutOfService
	})
	shelved := s.raise(t, at(4), nil, "d")[0]
	s.clear(t, alarms.ByKey("d"), at(5))
	s.change(t, alarms.ByKey("d"), at(5), alarms.Shelved, func(f alarms.RefResult) {
		f.Condition.Suppression, f.Condition.ShelvedUntil = alarms.SuppressionShelved, at(50)
	})
	gone := s.raise(t, at(6), nil, "e")[0]
	s.clear(t, alarms.ByKey("e"), at(7))
	require.NoError(t, trimmer.Trim(t.Context(), at(7)))
	require.Equal(t, gone.Seq, s.stored(t, gone.ID).Seq, "what was cleared at that time stays")
	require.NoError(t, trimmer.Trim(t.Context(), at(10)))
	removed, err := s.OccurrencesByID(t.Context(), []string{old.ID, gone.ID})
	require.NoError(t, err)
	require.Empty(t, removed)
	_, err = s.Condition(t.Context(), alarms.ByKey("e"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound, "a condition that nothing needs goes")
	for _, o := range []alarms.Occurrence{newest, shelved, active, late} {
		require.Equal(t, o.Seq, s.stored(t, o.ID).Seq, "the newest of a condition that is needed, active ones and late ones stay")
	}
	events := s.events(t)
	require.Len(t, events, 2)
	require.Equal(t, alarms.Cleared, events[0].Kind)
	require.NoError(t, trimmer.Trim(t.Context(), at(100)))
	require.Len(t, s.all(t), 4, "each condition that is needed keeps its newest")
	require.Empty(t, numbers(s.events(t)))
	next := s.raise(t, at(12), nil, "a")[0]
	require.Equal(t, old.Code, next.Code, "the code stays with the condition")
	back := s.raise(t, at(12), nil, "e")[0]
	require.Greater(t, back.Code, shelved.Code, "a code is never given twice")
	require.NotEqual(t, gone.Code, back.Code)
	require.Greater(t, next.Seq, events[1].Seq, "nor a sequence number, though the journal was empty")
}

// testTrimKeepsResolved checks that a condition with a resolution stays with its newest occurrence.
func testTrimKeepsResolved(t *testing.T, s *store) {
	trimmer, resolutions := optional[alarms.Trimmer](t, s), optional[alarms.ResolutionStore](t, s)
	old := s.raise(t, noon, nil, "a", "b")
	s.clear(t, alarms.ByKey("a"), noon)
	s.clear(t, alarms.ByKey("b"), noon)
	newest := s.raise(t, noon.Add(time.Minute), nil, "a")[0]
	s.clear(t, alarms.ByKey("a"), noon.Add(time.Minute))
	_, err := resolutions.AddResolution(t.Context(), alarms.Resolution{Code: old[0].Code, ResolvedBy: "anna", ResolvedAt: noon, ActionTaken: "greased"})
	require.NoError(t, err)
	require.NoError(t, trimmer.Trim(t.Context(), noon.Add(time.Hour)))
	require.Equal(t, []int64{newest.Seq}, seqs(s.all(t)))
	again := s.raise(t, noon.Add(time.Hour), nil, "a", "b")
	require.Equal(t, old[0].Code, again[0].Code, "the code stays with the condition")
	require.NotEqual(t, old[1].Code, again[1].Code)
}

func testResolutions(t *testing.T, s *store) {
	resolutions := optional[alarms.ResolutionStore](t, s)
	notes, empty := "replaced the bearing ' 温度", ""
	var last int64
	for i, r := range []alarms.Resolution{
		{Code: 7, ResolvedBy: "anna", ResolvedAt: noon, ActionTaken: "greased", WasSuccessful: false},
		{Code: 7, ResolvedBy: "ben", RecordedBy: "Ana Müller", ResolvedAt: noon.Add(-time.Hour), ActionTaken: "replaced", WasSuccessful: true, Notes: &notes},
		{Code: 1 << 40, ResolvedBy: "carl", ResolvedAt: noon, ActionTaken: "nothing", Notes: &empty},
	} {
		got, err := resolutions.AddResolution(t.Context(), r)
		require.NoError(t, err)
		require.Greater(t, got.ID, last)
		last = got.ID
		r.ID = got.ID
		require.True(t, r.ResolvedAt.Equal(got.ResolvedAt))
		got.ResolvedAt = r.ResolvedAt
		require.Equal(t, r, got, "resolution %d", i)
	}
	list, err := resolutions.Resolutions(t.Context(), 7)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "ben", list[0].ResolvedBy, "newest first, by the order in which they were stored")
	require.Equal(t, "Ana Müller", list[0].RecordedBy)
	require.Empty(t, list[1].RecordedBy)
	require.Equal(t, notes, *list[0].Notes)
	require.Nil(t, list[1].Notes)
	require.True(t, list[0].ResolvedAt.Equal(noon.Add(-time.Hour)))
	other, err := resolutions.Resolutions(t.Context(), 1<<40)
	require.NoError(t, err)
	require.NotNil(t, other[0].Notes, "an empty note is not none")
	none, err := resolutions.Resolutions(t.Context(), 8)
	require.NoError(t, err)
	require.Empty(t, none)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = resolutions.AddResolution(ctx, alarms.Resolution{Code: 1})
	require.Error(t, err)
}

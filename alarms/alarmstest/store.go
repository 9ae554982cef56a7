package alarmstest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// TestStore checks a store against the contract of alarms.Store, and against those of the optional interfaces that it
// implements: alarms.CodeLister, EventLister, Statistics, Trimmer and ResolutionStore. open returns an empty store and
// closes it with t.Cleanup; it is called for each part of the suite. reopen closes that store and opens what it left on
// disk; nil if nothing survives.
func TestStore(t *testing.T, open func(testing.TB) (s alarms.Store, reopen func() alarms.Store)) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(*testing.T, *store)
	}{
		{"Empty", testEmpty},
		{"RoundTrip", testRoundTrip},
		{"Update", testUpdate},
		{"Codes", testCodes},
		{"SameValues", testSameValues},
		{"Atomic", testAtomic},
		{"CallersValues", testCallersValues},
		{"AwkwardTexts", testAwkwardTexts},
		{"Order", testOrder},
		{"Filters", testFilters},
		{"Paging", testPaging},
		{"TimeRanges", testTimeRanges},
		{"States", testStates},
		{"Search", testSearch},
		{"ManyPages", testManyPages},
		{"ByID", testByID},
		{"CodesOf", testCodesOf},
		{"Events", testEvents},
		{"EventsOf", testEventsOf},
		{"Suppression", testSuppression},
		{"HourlyCounts", testHourlyCounts},
		{"ActiveIntervals", testActiveIntervals},
		{"Trim", testTrim},
		{"TrimManyPages", testTrimManyPages},
		{"TrimKeepsResolved", testTrimKeepsResolved},
		{"TrimBackdated", testTrimBackdated},
		{"Late", testLate},
		{"TrimLate", testTrimLate},
		{"Resolutions", testResolutions},
		{"BigBatch", testBigBatch},
		{"CanceledContext", testCanceledContext},
		{"ParallelRaises", testParallelRaises},
		{"ParallelAcknowledges", testParallelAcknowledges},
		{"ParallelSequence", testParallelSequence},
		{"Reopen", testReopen},
		{"ReopenResolutions", testReopenResolutions},
	} {
		t.Run(part.name, func(t *testing.T) {
			s, reopen := open(t)
			part.run(t, &store{Store: s, reopen: reopen})
		})
	}
}

// store is a store under test.
type store struct {
	alarms.Store
	reopen func() alarms.Store
	ids    int
}

// optional returns the store as an optional interface, and skips the test if it does not implement it.
func optional[T any](t *testing.T, s *store) T {
	t.Helper()
	own, ok := s.Store.(T)
	if !ok {
		t.Skipf("the store does not implement %v", reflect.TypeFor[T]())
	}
	return own
}

var noon = time.Date(2024, 2, 28, 12, 0, 0, 0, time.UTC)

// id returns ids that are UUIDs, ascending, of a time before noon.
func (s *store) id() string {
	s.ids++
	return fmt.Sprintf("018de000-0000-7000-8000-%012x", s.ids)
}

// raise writes one new active occurrence of each key, one event each, and returns them as they are
// stored. alter may change each of them before it is stored.
func (s *store) raise(t testing.TB, at time.Time, alter func(i int, o *alarms.Occurrence), keys ...string) []alarms.Occurrence {
	t.Helper()
	refs := make([]alarms.Ref, len(keys))
	ids := make([][2]string, len(keys))
	for i, key := range keys {
		refs[i] = alarms.Ref{Key: key, Create: true}
		ids[i] = [2]string{s.id(), s.id()}
	}
	var out []alarms.Occurrence
	err := s.Write(t.Context(), refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		out = out[:0]
		var c alarms.Changes
		for i, f := range found {
			if f.Condition == nil {
				return c, fmt.Errorf("no condition for %q with Create", keys[i])
			}
			o := occurrence(ids[i][0], next+int64(i), f.Condition, at)
			if alter != nil {
				alter(i, o)
			}
			f.Condition.Last = o
			c.Conditions = append(c.Conditions, f.Condition)
			c.Occurrences = append(c.Occurrences, o)
			c.Events = append(c.Events, alarms.Event{Seq: o.Seq, ID: ids[i][1], At: at, Kind: alarms.Raised, Occurrence: *o, Annunciate: true})
			out = append(out, *o)
		}
		return c, nil
	})
	require.NoError(t, err, "Write of %d occurrences", len(keys))
	return out
}

func occurrence(id string, seq int64, c *alarms.Condition, at time.Time) *alarms.Occurrence {
	return &alarms.Occurrence{
		Seq: seq, ID: id, Code: c.Code, Key: c.Key, Source: "press.temperature", SourceType: "Sensor",
		Message: "press.temperature is 91, above 80", Severity: alarms.Critical, RaisedAt: at, Active: true,
	}
}

// change changes what one ref names and journals it as an event of the kind.
func (s *store) change(t testing.TB, ref alarms.Ref, at time.Time, kind alarms.EventKind, alter func(alarms.RefResult)) {
	t.Helper()
	id := s.id()
	err := s.Write(t.Context(), []alarms.Ref{ref}, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		f := found[0]
		if f.Condition == nil {
			return alarms.Changes{}, alarms.ErrAlarmNotFound
		}
		alter(f)
		c := alarms.Changes{Conditions: []*alarms.Condition{f.Condition}}
		e := alarms.Event{Seq: next, ID: id, At: at, Kind: kind, By: "anna", Comment: "why"}
		if f.Occurrence != nil {
			c.Occurrences = append(c.Occurrences, f.Occurrence)
			e.Occurrence = *f.Occurrence
		} else {
			e.Occurrence = alarms.Occurrence{Code: f.Condition.Code, Key: f.Condition.Key, Suppression: f.Condition.Suppression}
		}
		c.Events = append(c.Events, e)
		return c, nil
	})
	require.NoError(t, err, "Write of %s", kind)
}

func (s *store) clear(t testing.TB, ref alarms.Ref, at time.Time) {
	t.Helper()
	s.change(t, ref, at, alarms.Cleared, func(f alarms.RefResult) { f.Occurrence.Active, f.Occurrence.ClearedAt = false, at })
}

func (s *store) acknowledge(t testing.TB, ref alarms.Ref, at time.Time) {
	t.Helper()
	s.change(t, ref, at, alarms.Acknowledged, func(f alarms.RefResult) {
		f.Occurrence.AcknowledgedAt, f.Occurrence.AcknowledgedBy, f.Occurrence.Comment = at, "anna", "seen"
	})
}

func (s *store) query(t testing.TB, q alarms.Query) alarms.Page {
	t.Helper()
	p, err := s.Occurrences(t.Context(), q)
	require.NoError(t, err, "Occurrences of %v", described(q))
	require.LessOrEqual(t, len(p.Occurrences), q.Limit, "Occurrences of %v: Limit %d: %d occurrences returned", described(q), q.Limit, len(p.Occurrences))
	for i := 1; i < len(p.Occurrences); i++ {
		require.Negative(t, p.Occurrences[i].Position().Compare(p.Occurrences[i-1].Position()),
			"Occurrences of %v: not newest first (by RaisedAt, then Seq)", described(q))
	}
	return p
}

// described is a query for the messages of failures: its members that are not zero.
type described alarms.Query

func (d described) String() string {
	text := ""
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			text += fmt.Sprintf(" %s: %+v", v.Type().Field(i).Name, f)
		}
	}
	return "Query{" + strings.TrimPrefix(text, " ") + "}"
}

// all returns every occurrence, newest first.
func (s *store) all(t testing.TB) []alarms.Occurrence {
	t.Helper()
	return s.query(t, alarms.Query{Limit: 1 << 20}).Occurrences
}

func (s *store) events(t testing.TB) []alarms.Event {
	t.Helper()
	list, err := s.Events(t.Context(), 0, 1<<20)
	require.NoError(t, err)
	for i := 1; i < len(list); i++ {
		require.Greater(t, list[i].Seq, list[i-1].Seq, "order of the journal")
	}
	return list
}

// numbers returns the sequence numbers of events.
func numbers(list []alarms.Event) []int64 {
	out := make([]int64, len(list))
	for i, e := range list {
		out[i] = e.Seq
	}
	return out
}

func (s *store) stored(t testing.TB, id string) alarms.Occurrence {
	t.Helper()
	list, err := s.OccurrencesByID(t.Context(), []string{id})
	require.NoError(t, err, "OccurrencesByID %s", id)
	require.Len(t, list, 1, "OccurrencesByID %s", id)
	return list[0]
}

// same requires that occurrences are equal; times are equal if they are the same instant.
func same(t testing.TB, want, got alarms.Occurrence, what string) {
	t.Helper()
	for _, at := range []struct {
		name string
		w, g *time.Time
	}{
		{"RaisedAt", &want.RaisedAt, &got.RaisedAt}, {"ReturnedAt", &want.ReturnedAt, &got.ReturnedAt},
		{"ClearedAt", &want.ClearedAt, &got.ClearedAt}, {"AcknowledgedAt", &want.AcknowledgedAt, &got.AcknowledgedAt},
	} {
		require.True(t, at.w.Equal(*at.g), "%s: %s is %v, not %v", what, at.name, *at.g, *at.w)
		require.Equal(t, at.w.IsZero(), at.g.IsZero(), "%s: whether %s is set", what, at.name)
		*at.w, *at.g = time.Time{}, time.Time{}
	}
	if len(want.Labels) == 0 && len(got.Labels) == 0 {
		want.Labels, got.Labels = nil, nil
	}
	require.Equal(t, want, got, what)
}

// seqs returns the sequence numbers of a page.
func seqs(list []alarms.Occurrence) []int64 {
	out := make([]int64, len(list))
	for i, o := range list {
		out[i] = o.Seq
	}
	return out
}

// backward returns the sequence numbers of occurrences that were raised in this order, newest first.
func backward(list []alarms.Occurrence, pick ...int) []int64 {
	out := make([]int64, 0, len(pick))
	for i := len(pick) - 1; i >= 0; i-- {
		out = append(out, list[pick[i]].Seq)
	}
	return out
}

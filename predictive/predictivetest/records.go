package predictivetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
)

// TestRecordStore runs the suite. newStore returns an empty store; it is called for each test.
func TestRecordStore(t *testing.T, newStore func(t testing.TB) predictive.RecordStore) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s predictive.RecordStore)
	}{
		{"failures", testFailures},
		{"replacements", testReplacements},
		{"all or none", testAllOrNone},
		{"alarms are recorded once", testAlarmsOnce},
		{"an alarm is recorded once by many", testAlarmsOnceConcurrently},
		{"queries", testQueries},
		{"many", testMany},
		{"a canceled context", testCanceled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)

// failure is the failure number n, n hours after start, of one of two pumps.
func failure(n int) predictive.Failure {
	at := start.Add(time.Duration(n) * time.Hour)
	return predictive.Failure{ID: fmt.Sprintf("failure-%03d", n), EquipmentID: fmt.Sprintf("pump/%d é", n%2), Component: []string{"Bearing", "Seal", ""}[n%3],
		Code: "E-17", Source: predictive.SourceManual, Note: "\"hot\" %_'\\\n日本", Start: at, Noticed: at.Add(time.Minute), End: at.Add(2 * time.Minute)}
}

// replacement is the replacement number n, n hours after start, of one of two pumps.
func replacement(n int) predictive.Replacement {
	return predictive.Replacement{ID: fmt.Sprintf("replacement-%03d", n), EquipmentID: fmt.Sprintf("pump/%d é", n%2), Component: []string{"Bearing", "Seal"}[n%2],
		At: start.Add(time.Duration(n) * time.Hour), Reason: []predictive.Reason{predictive.ReasonFailure, predictive.ReasonPreventive}[n%2],
		Source: predictive.SourceCSV, Note: "\"new\" %_'\\\n日本"}
}

func failures(t *testing.T, s predictive.RecordStore, q predictive.RecordQuery) []predictive.Failure {
	t.Helper()
	p, err := s.Failures(t.Context(), q)
	require.NoError(t, err)
	require.Zero(t, p.Total, "nobody has asked for the total")
	return p.Items
}

func replacements(t *testing.T, s predictive.RecordStore, q predictive.RecordQuery) []predictive.Replacement {
	t.Helper()
	p, err := s.Replacements(t.Context(), q)
	require.NoError(t, err)
	require.Zero(t, p.Total, "nobody has asked for the total")
	return p.Items
}

func testFailures(t *testing.T, s predictive.RecordStore) {
	require.Empty(t, failures(t, s, predictive.RecordQuery{}))
	require.NoError(t, s.AddFailures(t.Context(), nil))
	bare := predictive.Failure{ID: "bare", EquipmentID: "pump", Source: predictive.SourceAlarm, Start: start.Add(-time.Hour)}
	local := failure(2)
	local.Start = local.Start.In(time.FixedZone("", 3600)).Add(999 * time.Nanosecond)
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{local, failure(1)}))
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{bare}))
	require.Equal(t, []predictive.Failure{bare, failure(1), failure(2)}, failures(t, s, predictive.RecordQuery{}))

	require.ErrorIs(t, s.DeleteFailure(t.Context(), "none"), predictive.ErrRecordNotFound)
	require.NoError(t, s.DeleteFailure(t.Context(), "bare"))
	require.ErrorIs(t, s.DeleteFailure(t.Context(), "bare"), predictive.ErrRecordNotFound)
	require.Equal(t, []predictive.Failure{failure(1), failure(2)}, failures(t, s, predictive.RecordQuery{}))
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{bare}), "what was deleted may come again")
}

func testReplacements(t *testing.T, s predictive.RecordStore) {
	require.Empty(t, replacements(t, s, predictive.RecordQuery{}))
	require.NoError(t, s.AddReplacements(t.Context(), nil))
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{replacement(2), replacement(1)}))
	require.Equal(t, []predictive.Replacement{replacement(1), replacement(2)}, replacements(t, s, predictive.RecordQuery{}))
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{failure(1)}))

	require.ErrorIs(t, s.DeleteReplacement(t.Context(), failure(1).ID), predictive.ErrRecordNotFound)
	require.NoError(t, s.DeleteReplacement(t.Context(), replacement(1).ID))
	require.ErrorIs(t, s.DeleteReplacement(t.Context(), replacement(1).ID), predictive.ErrRecordNotFound)
	require.Equal(t, []predictive.Replacement{replacement(2)}, replacements(t, s, predictive.RecordQuery{}))
	require.Len(t, failures(t, s, predictive.RecordQuery{}), 1)
}

func testAllOrNone(t *testing.T, s predictive.RecordStore) {
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{failure(1)}))
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{replacement(1)}))
	for _, list := range [][]int{{1}, {2, 1}, {2, 3, 2}} {
		var f []predictive.Failure
		var r []predictive.Replacement
		for _, n := range list {
			f, r = append(f, failure(n)), append(r, replacement(n))
		}
		require.ErrorIs(t, s.AddFailures(t.Context(), f), predictive.ErrRecordExists)
		require.ErrorIs(t, s.AddReplacements(t.Context(), r), predictive.ErrRecordExists)
	}
	require.Equal(t, []predictive.Failure{failure(1)}, failures(t, s, predictive.RecordQuery{}))
	require.Equal(t, []predictive.Replacement{replacement(1)}, replacements(t, s, predictive.RecordQuery{}))
}

func testAlarmsOnce(t *testing.T, s predictive.RecordStore) {
	f, r := failure(1), replacement(1)
	f.Source, r.Source = predictive.SourceAlarm, predictive.SourceAlarm
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{f}))
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{r}))

	again, later, byHand := f, f, f
	again.ID, again.Note = "again", "other"
	later.ID, later.Start = "later", f.Start.Add(time.Microsecond)
	byHand.ID, byHand.Source = "byHand", predictive.SourceManual
	laterTwice := later
	laterTwice.ID = "laterTwice"
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{f, again, byHand, later, laterTwice}))
	require.Equal(t, []predictive.Failure{byHand, f, later}, failures(t, s, predictive.RecordQuery{}))
	taken := later
	taken.Code = "other"
	require.ErrorIs(t, s.AddFailures(t.Context(), []predictive.Failure{taken}), predictive.ErrRecordExists)

	againR, other := r, r
	againR.ID = "again"
	other.ID, other.Reason = "other", predictive.ReasonFailure
	require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{r, againR, other}))
	require.Equal(t, []predictive.Replacement{other, r}, replacements(t, s, predictive.RecordQuery{}))
}

func testAlarmsOnceConcurrently(t *testing.T, s predictive.RecordStore) {
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			var list []predictive.Failure
			for n := range 20 {
				f := failure(n)
				f.ID, f.Source = fmt.Sprintf("%d-%d", i, n), predictive.SourceAlarm
				list = append(list, f)
			}
			errs[i] = s.AddFailures(t.Context(), list)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, failures(t, s, predictive.RecordQuery{}), 20)
}

func testQueries(t *testing.T, s predictive.RecordStore) {
	for _, n := range []int{5, 3, 0, 4, 1, 2} {
		require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{failure(n)}))
		require.NoError(t, s.AddReplacements(t.Context(), []predictive.Replacement{replacement(n)}))
	}
	same := failure(3)
	same.ID = "a" // at the same time, and before it by its id
	require.NoError(t, s.AddFailures(t.Context(), []predictive.Failure{same}))
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		name         string
		q            predictive.RecordQuery
		failures     []string
		replacements []string
	}{
		{"all", predictive.RecordQuery{}, []string{"failure-000", "failure-001", "failure-002", "a", "failure-003", "failure-004", "failure-005"},
			[]string{"replacement-000", "replacement-001", "replacement-002", "replacement-003", "replacement-004", "replacement-005"}},
		{"equipment", predictive.RecordQuery{EquipmentID: "pump/1 é"}, []string{"failure-001", "a", "failure-003", "failure-005"},
			[]string{"replacement-001", "replacement-003", "replacement-005"}},
		{"component", predictive.RecordQuery{Component: "Seal"}, []string{"failure-001", "failure-004"}, []string{"replacement-001", "replacement-003", "replacement-005"}},
		{"both", predictive.RecordQuery{EquipmentID: "pump/0 é", Component: "Seal"}, []string{"failure-004"}, nil},
		{"case", predictive.RecordQuery{EquipmentID: "PUMP/0 é"}, nil, nil},
		{"time", predictive.RecordQuery{From: at(1), To: at(3)}, []string{"failure-001", "failure-002"}, []string{"replacement-001", "replacement-002"}},
		{"between microseconds", predictive.RecordQuery{From: at(1).Add(1), To: at(3).Add(1)}, []string{"failure-002", "a", "failure-003"},
			[]string{"replacement-002", "replacement-003"}},
		{"other zone", predictive.RecordQuery{From: at(5).In(time.FixedZone("", -7200))}, []string{"failure-005"}, []string{"replacement-005"}},
		{"part", predictive.RecordQuery{Offset: 3, Limit: 2}, []string{"a", "failure-003"}, []string{"replacement-003", "replacement-004"}},
		{"rest", predictive.RecordQuery{Offset: 5}, []string{"failure-004", "failure-005"}, []string{"replacement-005"}},
		{"after the end", predictive.RecordQuery{Offset: 9, Limit: 2}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ids []string
			for _, f := range failures(t, s, c.q) {
				ids = append(ids, f.ID)
			}
			require.Equal(t, c.failures, ids)
			ids = nil
			for _, r := range replacements(t, s, c.q) {
				ids = append(ids, r.ID)
			}
			require.Equal(t, c.replacements, ids)
		})
	}
	for _, q := range []predictive.RecordQuery{{EquipmentID: "pump/1 é", Offset: 1, Limit: 1, Count: true}, {EquipmentID: "pump/1 é", Offset: 9, Count: true}} {
		f, err := s.Failures(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, 4, f.Total)
		r, err := s.Replacements(t.Context(), q)
		require.NoError(t, err)
		require.Equal(t, 3, r.Total)
	}
}

func testMany(t *testing.T, s predictive.RecordStore) {
	const n = 2500
	f, r := make([]predictive.Failure, n), make([]predictive.Replacement, n)
	for i := range n {
		f[i], r[i] = failure(i), replacement(i)
		f[i].ID, r[i].ID = fmt.Sprintf("failure-%06d", i), fmt.Sprintf("replacement-%06d", i)
		if i%2 == 0 {
			f[i].Source, f[i].Noticed, f[i].End = predictive.SourceAlarm, time.Time{}, time.Time{}
		}
	}
	require.NoError(t, s.AddFailures(t.Context(), f))
	require.NoError(t, s.AddReplacements(t.Context(), r))
	require.Equal(t, f, failures(t, s, predictive.RecordQuery{}))
	require.Equal(t, r, replacements(t, s, predictive.RecordQuery{}))
	extra := failure(n)
	extra.ID = "extra"
	again := append([]predictive.Failure{extra}, f...)
	require.ErrorIs(t, s.AddFailures(t.Context(), again), predictive.ErrRecordExists)
	require.Len(t, failures(t, s, predictive.RecordQuery{}), n)
}

func testCanceled(t *testing.T, s predictive.RecordStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.AddFailures(ctx, []predictive.Failure{failure(1)}))
	require.Error(t, s.AddReplacements(ctx, []predictive.Replacement{replacement(1)}))
	require.Error(t, s.DeleteFailure(ctx, "none"))
	require.Empty(t, failures(t, s, predictive.RecordQuery{}))
	require.Empty(t, replacements(t, s, predictive.RecordQuery{}))
}

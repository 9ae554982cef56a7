package history_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

func filledHistory(t *testing.T, n int) (*history.Service, []alerting.Record) {
	t.Helper()
	store := history.NewMemory()
	var all []alerting.Record
	for i := range n {
		all = append(all, alerting.Record{
			ID: uuid.NewString(), Key: alerting.RecordKey{Alarm: fmt.Sprint(i), At: noon.Add(time.Duration(i) * time.Hour)},
			Severity: alarms.Severity(i % 4), Source: []string{"b", "a", "c", "c"}[i%4], Annotations: map[string]string{"summary": "s"},
		})
	}
	require.NoError(t, store.ApplyRecords(t.Context(), history.Changes{Add: all}))
	h, err := history.New(store)
	require.NoError(t, err)
	return h, all
}

func TestHistoryPages(t *testing.T) {
	h, _ := filledHistory(t, 101)
	for _, c := range []struct{ page, size, records, pages int }{
		{1, 50, 50, 3}, {3, 50, 1, 3}, {4, 50, 0, 3}, {1, 100, 100, 2}, {101, 1, 1, 101}, {math.MaxInt, 100, 0, 2},
	} {
		p, err := h.List(t.Context(), history.Filter{}, c.page, c.size)
		require.NoError(t, err)
		require.Len(t, p.Records, c.records)
		require.NotNil(t, p.Records)
		require.EqualValues(t, c.pages, p.TotalPages)
		require.Equal(t, 101, p.Total)
		require.Equal(t, []int{c.page, c.size}, []int{p.Page, p.PageSize})
	}
	for _, c := range []struct {
		page, size int
		want       error
	}{{0, 50, alerting.ErrInvalidRequest}, {1, 0, alerting.ErrInvalidRequest}, {1, 101, alerting.ErrPageSizeExceeded}} {
		_, err := h.List(t.Context(), history.Filter{}, c.page, c.size)
		require.ErrorIs(t, err, c.want)
	}
	_, err := h.List(t.Context(), history.Filter{From: noon, To: noon}, 1, 1)
	require.ErrorIs(t, err, alerting.ErrInvalidTimeRange)
	empty, _ := filledHistory(t, 0)
	p, err := empty.List(t.Context(), history.Filter{}, 1, 50)
	require.NoError(t, err)
	require.Zero(t, p.TotalPages)
}

func TestHistoryGet(t *testing.T) {
	h, all := filledHistory(t, 1)
	r, err := h.Get(t.Context(), all[0].ID)
	require.NoError(t, err)
	require.Equal(t, all[0], r)
	for _, id := range []string{"", "x", uuid.NewString()} {
		_, err := h.Get(t.Context(), id)
		require.ErrorIs(t, err, history.ErrNotFound)
	}
}

func TestHistoryCounts(t *testing.T) {
	h, _ := filledHistory(t, 5)
	severities, err := h.CountBySeverity(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []history.SeverityCount{{alarms.Critical, 1}, {alarms.Error, 1}, {alarms.Warning, 1}, {alarms.Info, 2}}, severities)
	sources, err := h.CountBySource(t.Context(), time.Time{}, time.Time{})
	require.NoError(t, err)
	require.Equal(t, []history.SourceCount{{"b", 2}, {"c", 2}, {"a", 1}}, sources)
	sources, err = h.CountBySource(t.Context(), noon.Add(99*time.Hour), time.Time{})
	require.NoError(t, err)
	require.NotNil(t, sources)
	require.Empty(t, sources)
	_, err = h.CountBySeverity(t.Context(), noon, noon)
	require.ErrorIs(t, err, alerting.ErrInvalidTimeRange)
}

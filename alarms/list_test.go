package alarms_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/fault"
)

func TestPages(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	for i := range 30 {
		a := pump(fmt.Sprint("k", i))
		a.Severity = alarms.Severity(i % 4)
		raise(t, s, a)
	}
	start, end := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		page, size int
		want       error
	}{{0, 10, alarms.ErrInvalidRequest}, {1, 0, alarms.ErrInvalidRequest}, {-1, -1, alarms.ErrInvalidRequest}, {1, 501, alarms.ErrPageSizeExceeded}, {1, 500, nil}, {math.MaxInt, 500, nil}} {
		_, err := s.List(t.Context(), alarms.ListQuery{Page: c.page, PageSize: c.size})
		require.ErrorIs(t, err, c.want)
		_, err = s.History(t.Context(), start, end, alarms.ListQuery{Page: c.page, PageSize: c.size})
		require.ErrorIs(t, err, c.want)
	}
	p, err := s.List(t.Context(), alarms.ListQuery{Page: 2, PageSize: 20})
	require.NoError(t, err)
	require.Len(t, p.Occurrences, 10)
	require.Equal(t, 30, p.Total)
	require.Equal(t, "k9", p.Occurrences[0].Key)
	critical, err := alarms.ParseThreeLevel("Critical")
	require.NoError(t, err)
	p, err = s.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 20, Severities: critical})
	require.NoError(t, err)
	require.Equal(t, 14, p.Total, "an Error is shown as Critical and found as such")
	for _, o := range p.Occurrences {
		require.Equal(t, "Critical", o.Severity.ThreeLevel())
	}
	for _, word := range []string{"critical", "Error", "x"} {
		_, err = alarms.ParseThreeLevel(word)
		require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	}
	for _, r := range [][2]time.Time{{end, start}, {start, start}} {
		_, err = s.History(t.Context(), r[0], r[1], alarms.ListQuery{Page: 1, PageSize: 1})
		require.ErrorIs(t, err, alarms.ErrInvalidTimeRange)
	}
	for limit, want := range map[int]error{0: alarms.ErrInvalidRequest, -1: alarms.ErrInvalidRequest, 501: alarms.ErrPageSizeExceeded, 500: nil} {
		_, err = s.RecentHistory(t.Context(), limit)
		require.ErrorIs(t, err, want)
	}
	n := 0
	for o, err := range s.EachActive(t.Context()) {
		require.NoError(t, err)
		require.True(t, o.Active)
		n++
	}
	require.Equal(t, 30, n)
}

func TestTrend(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	at := func(d time.Duration, sev alarms.Severity) {
		a := pump(fmt.Sprint(d, sev))
		a.At, a.Severity = c.now().Add(d), sev
		raise(t, s, a)
	}
	at(-150*time.Minute, alarms.Error)
	at(-60*time.Minute, alarms.Info)
	at(-59*time.Minute, alarms.Warning)
	at(-time.Minute, alarms.Critical)
	at(-time.Minute, alarms.Error)
	points, err := s.Trend(t.Context(), c.now().Add(-170*time.Minute).In(time.FixedZone("", 1800)), c.now().Add(time.Minute))
	require.NoError(t, err)
	hour := func(h int) time.Time { return c.now().Add(time.Duration(h) * time.Hour) }
	require.Equal(t, []alarms.TrendPoint{
		{Hour: hour(-3), Error: 1, Total: 1},
		{Hour: hour(-2)},
		{Hour: hour(-1), Warning: 1, Error: 1, Critical: 1, Total: 4},
		{Hour: hour(0)},
	}, points)
	points, err = s.Trend(t.Context(), hour(-24), hour(0))
	require.NoError(t, err)
	require.Len(t, points, 24, "the end is not in the range")
	for _, r := range [][2]time.Time{{hour(0), hour(0)}, {hour(1), hour(0)}, {hour(-31*24 - 1), hour(0)}} {
		_, err = s.Trend(t.Context(), r[0], r[1])
		require.ErrorIs(t, err, alarms.ErrInvalidTimeRange)
	}
	_, err = s.Trend(t.Context(), hour(-31*24), hour(0))
	require.NoError(t, err)
}

func TestResolutions(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	yes := true
	r, err := s.Resolve(t.Context(), 4711, alarms.ResolutionRequest{ResolvedBy: "anna", ActionTaken: "greased", WasSuccessful: &yes})
	require.NoError(t, err)
	require.Equal(t, alarms.Resolution{ID: 1, Code: 4711, ResolvedBy: "anna", ResolvedAt: c.now(), ActionTaken: "greased", WasSuccessful: true}, r)
	list, err := s.Resolutions(t.Context(), 4711)
	require.NoError(t, err)
	require.Equal(t, []alarms.Resolution{r}, list)
	_, err = s.Resolve(t.Context(), 0, alarms.ResolutionRequest{ResolvedBy: " "})
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	f, _ := fault.From(err)
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Field)
	}
	require.Equal(t, []string{"code", "resolvedBy", "actionTaken", "wasSuccessful"}, fields)
	_, err = s.Resolutions(t.Context(), -1)
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
}

func TestAnalytics(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now, Limits: alarms.Limits{Top: 2}})
	start := c.now()
	once := func(key string, after time.Duration) {
		a := pump(key)
		a.At = start.Add(after)
		raise(t, s, a)
		_, err := s.Clear(t.Context(), alarms.ByKey(key), "", "")
		require.NoError(t, err)
	}
	c.add(48 * time.Hour)
	for i := range 12 { // a flood: 12 alarms in 6 minutes
		once(fmt.Sprint("flood", i), time.Hour+time.Duration(i)*30*time.Second)
	}
	for i := range 10 { // never more than 10 in 10 minutes
		once("often", 5*time.Hour+time.Duration(i)*time.Minute)
	}
	for i := range 4 {
		once("chatters", 8*time.Hour+time.Duration(i)*15*time.Second)
	}
	stale := pump("stale")
	stale.At = start.Add(20 * time.Hour)
	raise(t, s, stale)
	raise(t, s, pump("fresh"))
	_, err := s.SuppressByDesign(t.Context(), alarms.ByKey("hidden"), "anna", "")
	require.NoError(t, err)
	raise(t, s, pump("hidden"))

	a, err := s.Analytics(t.Context(), start, start.Add(24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 27, a.Count)
	require.InDelta(t, 27.0/24, a.PerHour, 1e-9)
	require.True(t, a.Acceptable)
	require.Equal(t, 12, a.Peak)
	require.Len(t, a.Floods, 1)
	flood := a.Floods[0]
	require.Equal(t, start.Add(time.Hour), flood.Start)
	require.Equal(t, 12, flood.Count)
	require.Equal(t, 12, flood.Peak)
	// Alarm 7 of 12 leaves the window at 1:00 + 3:30 + 10:00; then 4 remain, fewer than 5.
	require.Equal(t, start.Add(time.Hour+13*time.Minute+30*time.Second), flood.End)
	require.InDelta(t, 100*13.5/(24*60), a.FloodPercent, 1e-9)
	require.Equal(t, []int{10, 4}, []int{a.Top[0].Count, a.Top[1].Count})
	require.Equal(t, "often", a.Top[0].Last.Key)
	require.InDelta(t, 100*14.0/27, a.TopPercent, 1e-9)
	require.Len(t, a.Chattering, 1)
	require.Equal(t, "chatters", a.Chattering[0].Last.Key)
	require.Equal(t, 4, a.Chattering[0].Count)
	require.Equal(t, 2, a.ActiveCount)
	require.Equal(t, 1, a.StaleCount)
	require.Equal(t, "stale", a.Stale[0].Key)

	cut, err := s.Analytics(t.Context(), start, start.Add(time.Hour+6*time.Minute))
	require.NoError(t, err)
	require.Equal(t, start.Add(time.Hour+6*time.Minute), cut.Floods[0].End, "a flood that lasts ends with the range")
	none, err := s.Analytics(t.Context(), start.Add(-time.Hour), start)
	require.NoError(t, err)
	require.Zero(t, none.Count)
	require.NotNil(t, none.Floods)
	_, err = s.Analytics(t.Context(), start, start)
	require.ErrorIs(t, err, alarms.ErrInvalidTimeRange)
}

func TestSeverityWords(t *testing.T) {
	for _, s := range alarms.Severities() {
		got, err := alarms.ParseSeverity(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	_, err := alarms.ParseSeverity("info")
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	require.Equal(t, "Critical", alarms.Error.ThreeLevel())
	require.Equal(t, "Error", alarms.Error.String())
	require.True(t, alarms.SeveritySet(0).Has(alarms.Info))
	require.False(t, alarms.AtLeast(alarms.Error).Has(alarms.Warning))
	require.True(t, alarms.AtLeast(alarms.Error).Has(alarms.Critical))
	require.Contains(t, alarms.Severity(9).String(), "9")
}

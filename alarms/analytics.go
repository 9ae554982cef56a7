package alarms

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Limits are the limits that [Analytics] applies. The defaults are those of EEMUA 191 (3rd edition) and
// ANSI/ISA-18.2-2016, clause 16 (IEC 62682:2014 has the same), as far as they state figures.
type Limits struct {
	Operators      int           // who share the alarms; default 1
	RateAcceptable float64       // alarms per operator hour; default 6 (one in 10 minutes)
	RateMax        float64       // manageable maximum; default 12 (two in 10 minutes)
	FloodWindow    time.Duration // default 10 min
	FloodStart     int           // a flood begins with more alarms than this per operator in a window; default 10
	FloodEnd       int           // and ends with fewer than this; default 5
	ChatterCount   int           // a condition that is raised this often in a ChatterWindow chatters; default 3
	ChatterWindow  time.Duration // default 1 min
	StaleAfter     time.Duration // an occurrence that is active for longer is stale; default 24 h
	Top            int           // length of the lists of conditions; default 10, at most 100
}

func (l Limits) withDefaults() (Limits, error) {
	l.Operators = cmp.Or(l.Operators, 1)
	l.RateAcceptable = cmp.Or(l.RateAcceptable, 6)
	l.RateMax = cmp.Or(l.RateMax, 12)
	l.FloodWindow = cmp.Or(l.FloodWindow, 10*time.Minute)
	l.FloodStart = cmp.Or(l.FloodStart, 10)
	l.FloodEnd = cmp.Or(l.FloodEnd, 5)
	l.ChatterCount = cmp.Or(l.ChatterCount, 3)
	l.ChatterWindow = cmp.Or(l.ChatterWindow, time.Minute)
	l.StaleAfter = cmp.Or(l.StaleAfter, 24*time.Hour)
	l.Top = cmp.Or(l.Top, 10)
	for _, rule := range []struct {
		ok   bool
		text string
	}{
		{l.Operators > 0, "Operators must be above 0"},
		{l.RateAcceptable > 0 && l.RateAcceptable <= l.RateMax, "RateAcceptable must be above 0 and at most RateMax"},
		{l.FloodWindow > 0, "FloodWindow must be above 0"},
		{l.FloodEnd > 0 && l.FloodEnd <= l.FloodStart, "FloodEnd must be above 0 and at most FloodStart"},
		{l.ChatterCount > 1, "ChatterCount must be above 1"},
		{l.ChatterWindow > 0, "ChatterWindow must be above 0"},
		{l.StaleAfter > 0, "StaleAfter must be above 0"},
		{l.Top > 0 && l.Top <= 100, "Top must be 1 to 100"},
	} {
		if !rule.ok {
			return l, fmt.Errorf("alarms: Limits.%s", rule.text)
		}
	}
	return l, nil
}

// Analytics are the figures by which EEMUA 191 and ISA-18.2 rate an alarm system.
type Analytics struct {
	Start, End time.Time
	Limits     Limits

	Count        int     // occurrences raised in the range
	PerHour      float64 // of one operator
	Peak         int     // largest number in one FloodWindow, of all operators
	Acceptable   bool    // PerHour is at most RateAcceptable
	Manageable   bool    // PerHour is at most RateMax
	Floods       []Flood // ascending
	FloodPercent float64 // share of the range during which there was a flood

	Top        []ConditionCount // the most frequent conditions, most first
	TopPercent float64          // their share of Count
	Chattering []ConditionCount // conditions that chattered, most first; their Count is the largest number in one ChatterWindow

	ActiveCount   int          // active now and not suppressed
	ReturnedCount int          // ended, unacknowledged and not suppressed now, as in ListReturned
	Stale         []Occurrence // active for longer than StaleAfter now, newest first; at most MaxPageSize
	StaleCount    int          // number of all stale ones
}

// Flood is a time during which alarms came faster than operators can handle them.
type Flood struct {
	Start, End time.Time // End is that of the range if the flood had not ended
	Count      int       // alarms in it
	Peak       int       // largest number in one FloodWindow
}

// ConditionCount is a condition and how often it was raised.
type ConditionCount struct {
	Code  int64
	Count int
	Last  Occurrence // the newest one, for its source and message
}

// Analytics computes the figures of the occurrences raised at start or later and before end, and of those that are
// active now. If the range is empty or longer than 31 days, it returns an ErrInvalidTimeRange.
func (s *Service) Analytics(ctx context.Context, start, end time.Time) (Analytics, error) {
	a := Analytics{Start: start.UTC(), End: end.UTC(), Limits: s.limits}
	if err := checkSpan(start, end); err != nil {
		return a, err
	}
	var times []time.Time
	byCode := make(map[int64][]time.Time)
	for l, err := range s.statistics.ActiveIntervals(ctx, start, end) {
		if err != nil {
			return a, err
		}
		times = append(times, l.RaisedAt)
		byCode[l.Code] = append(byCode[l.Code], l.RaisedAt)
	}
	slices.SortFunc(times, time.Time.Compare) // by time, not by Seq: a rate is about times
	a.Count = len(times)
	a.PerHour = float64(a.Count) / end.Sub(start).Hours() / float64(a.Limits.Operators)
	a.Acceptable, a.Manageable = a.PerHour <= a.Limits.RateAcceptable, a.PerHour <= a.Limits.RateMax
	a.Peak = mostWithin(times, a.Limits.FloodWindow)
	a.Floods = a.Limits.floods(times, a.End)
	flooded := time.Duration(0)
	for _, f := range a.Floods {
		flooded += f.End.Sub(f.Start)
	}
	a.FloodPercent = 100 * flooded.Seconds() / end.Sub(start).Seconds()
	if err := s.fillCounts(ctx, &a, byCode); err != nil {
		return a, err
	}
	return a, s.fillCurrent(ctx, &a)
}

// frequent sets Top and Chattering.
func (s *Service) fillCounts(ctx context.Context, a *Analytics, byCode map[int64][]time.Time) error {
	a.Top, a.Chattering = []ConditionCount{}, []ConditionCount{}
	for code, times := range byCode {
		a.Top = append(a.Top, ConditionCount{Code: code, Count: len(times)})
		slices.SortFunc(times, time.Time.Compare)
		if n := mostWithin(times, a.Limits.ChatterWindow); n >= a.Limits.ChatterCount {
			a.Chattering = append(a.Chattering, ConditionCount{Code: code, Count: n})
		}
	}
	a.Top, a.Chattering = highest(a.Top, a.Limits.Top), highest(a.Chattering, a.Limits.Top)
	known := make(map[int64]Occurrence)
	count := 0
	for _, list := range [][]ConditionCount{a.Top, a.Chattering} {
		for i := range list {
			o, ok := known[list[i].Code]
			if !ok {
				p, err := s.store.Occurrences(ctx, Query{Code: list[i].Code, Limit: 1})
				if err != nil {
					return err
				}
				if len(p.Occurrences) > 0 {
					o = p.Occurrences[0]
				}
				known[list[i].Code] = o
			}
			list[i].Last = o
		}
	}
	for _, f := range a.Top {
		count += f.Count
	}
	if a.Count > 0 {
		a.TopPercent = 100 * float64(count) / float64(a.Count)
	}
	return nil
}

// most returns the n conditions with the highest counts.
func highest(list []ConditionCount, n int) []ConditionCount {
	slices.SortFunc(list, func(x, y ConditionCount) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Code, y.Code))
	})
	return list[:min(n, len(list))]
}

// fillCurrent sets the figures of the present.
func (s *Service) fillCurrent(ctx context.Context, a *Analytics) error {
	p, err := s.store.Occurrences(ctx, Query{Active: true, Suppressed: ExcludeSuppressed, Count: true})
	if err != nil {
		return err
	}
	a.ActiveCount = p.Total
	if p, err = s.store.Occurrences(ctx, Query{State: ListReturned, Count: true}); err != nil {
		return err
	}
	a.ReturnedCount = p.Total
	p, err = s.store.Occurrences(ctx, Query{Active: true, Suppressed: ExcludeSuppressed, End: s.clock().Add(-a.Limits.StaleAfter), Limit: MaxPageSize, Count: true})
	a.Stale, a.StaleCount = p.Occurrences, p.Total
	return err
}

// mostWithin returns the largest number of times within one window. times must be ascending.
func mostWithin(times []time.Time, window time.Duration) int {
	peak, from := 0, 0
	for i, t := range times {
		for t.Sub(times[from]) >= window {
			from++
		}
		peak = max(peak, i-from+1)
	}
	return peak
}

// floods returns the floods. times must be ascending.
func (l Limits) floods(times []time.Time, end time.Time) []Flood {
	floods := []Flood{}
	var open *Flood
	from := 0 // index of the first time within the window that ends now
	leave := func(now time.Time) {
		for from < len(times) && now.Sub(times[from]) >= l.FloodWindow {
			left := times[from].Add(l.FloodWindow)
			from++
			if open == nil {
				continue
			}
			in := 0
			for _, t := range times[from:min(len(times), from+l.FloodEnd*l.Operators)] {
				if t.After(left) {
					break
				}
				in++
			}
			if in < l.FloodEnd*l.Operators {
				open.End = left
				floods = append(floods, *open)
				open = nil
			}
		}
	}
	for i, t := range times {
		leave(t)
		n := i - from + 1
		if open == nil && n > l.FloodStart*l.Operators {
			open = &Flood{Start: times[from], Count: n - 1}
		}
		if open != nil {
			open.Count++
			open.Peak = max(open.Peak, n)
		}
	}
	leave(end)
	if open != nil {
		open.End = end
		floods = append(floods, *open)
	}
	return floods
}

package history_test

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// plain is a store without optional parts.
type plain struct{ store *history.Memory }

func (p plain) Append(ctx context.Context, s []history.Sample) error { return p.store.Append(ctx, s) }
func (p plain) Trim(ctx context.Context, t time.Time, max int64) error {
	return p.store.Trim(ctx, t, max)
}
func (p plain) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[history.Sample, error] {
	return p.store.Range(ctx, tag, start, end)
}

// intervals returns the intervals of one tag.
func intervals(t *testing.T, store history.Store, q history.Query) (out []history.Interval) {
	t.Helper()
	all, err := history.Aggregate(t.Context(), store, []string{"a"}, q)
	require.NoError(t, err)
	require.Len(t, all, 1)
	for i, err := range all[0] {
		require.NoError(t, err)
		out = append(out, i)
	}
	return out
}

func fill(t *testing.T, samples ...history.Sample) *history.Memory {
	t.Helper()
	for i := range samples {
		samples[i].Tag = "a"
	}
	store := history.NewMemory()
	require.NoError(t, store.Append(t.Context(), samples))
	return store
}

func at(second float64, v tags.Value) history.Sample {
	return history.Sample{Time: noon.Add(time.Duration(second * float64(time.Second))), Value: v, Quality: tags.Good}
}

func float(f float64) tags.Value { return tags.FloatValue(f) }

func minute(n int) history.Period { return history.Period{N: n, Unit: "m"} }

// naive computes what an interval is by the words of the documentation: each sample by itself.
type naive struct {
	values              []float64
	count               int64
	held, numbers       time.Duration
	stepped, sloped     float64
	states              map[tags.Value]time.Duration
	first, last         tags.Value
	previous, following *history.Sample // that count
}

func naively(all []history.Sample, start, end, now time.Time, uncertain bool) naive {
	n := naive{states: map[tags.Value]time.Duration{}}
	counts := func(s *history.Sample) bool {
		return s.Quality == tags.Good || uncertain && s.Quality == tags.Uncertain
	}
	for i := range all {
		s := &all[i]
		if !counts(s) {
			continue
		}
		if s.Time.Before(start) {
			n.previous = s
		} else if n.following == nil && !s.Time.Before(end) {
			n.following = s
		}
		if !s.Time.Before(start) && s.Time.Before(end) {
			if n.count == 0 {
				n.first = s.Value
			}
			n.last = s.Value
			n.count++
			if f, ok := s.Value.Float(); ok {
				n.values = append(n.values, f)
			}
		}
		until, slope := now, 0.0
		f, number := s.Value.Float()
		if i+1 < len(all) {
			until = all[i+1].Time
			if next, ok := all[i+1].Value.Float(); ok && counts(&all[i+1]) && s.Value.Type() == tags.Float && all[i+1].Value.Type() == tags.Float {
				slope = (next - f) / until.Sub(s.Time).Seconds()
			}
		}
		from := s.Time
		if from.Before(start) {
			from = start
		}
		if until.After(end) {
			until = end
		}
		held := until.Sub(from)
		if held <= 0 {
			continue
		}
		n.held += held
		if number {
			n.numbers += held
			n.stepped += f * held.Seconds()
			atFrom, atUntil := f+slope*from.Sub(s.Time).Seconds(), f+slope*until.Sub(s.Time).Seconds()
			n.sloped += (atFrom + atUntil) / 2 * held.Seconds()
		}
		if ty := s.Value.Type(); ty == tags.Bool || ty == tags.Int || ty == tags.String {
			n.states[s.Value] += held
		}
	}
	return n
}

func TestAggregatesAreThoseOfANaiveComputation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []string{"float", "int", "bool", "string", "mixed"} {
		t.Run(kind, func(t *testing.T) {
			store := history.NewMemory()
			second := 0
			for range 600 {
				second += 1 + r.IntN(60)
				if r.IntN(50) == 0 {
					second += 3000
				}
				s := at(float64(second), tags.Value{})
				s.Tag = "a"
				s.Value = randomValue(r, kind)
				switch r.IntN(12) {
				case 0:
					s.Quality = tags.Bad
				case 1:
					s.Quality = tags.Uncertain
				}
				require.NoError(t, store.Append(t.Context(), []history.Sample{s}))
			}
			var all []history.Sample
			for s, err := range store.Range(t.Context(), "a", time.Time{}, noon.AddDate(1, 0, 0)) {
				require.NoError(t, err)
				all = append(all, s)
			}
			last := all[len(all)-1].Time
			for range 60 {
				start := noon.Add(time.Duration(r.IntN(second+7200)-3600) * time.Second)
				q := history.Query{
					Start: start, End: start.Add(time.Duration(1+r.IntN(second)) * time.Second), Period: history.Period{N: 1 + r.IntN(5000), Unit: "s"},
					Fill: []history.Fill{history.FillNone, history.FillPrevious, history.FillLinear}[r.IntN(3)], Sloped: r.IntN(2) == 0, Uncertain: r.IntN(2) == 0,
				}
				if r.IntN(3) == 0 {
					q.Now = last.Add(time.Duration(r.IntN(4000)) * time.Second)
				}
				for _, s := range []history.Store{store, plain{store}} {
					sameAsNaive(t, intervals(t, s, q), all, q)
				}
			}
		})
	}
}

func randomValue(r *rand.Rand, kind string) tags.Value {
	if kind == "mixed" {
		kind = []string{"float", "int", "bool", "string"}[r.IntN(4)]
	}
	switch kind {
	case "float":
		return float(r.NormFloat64() * 100)
	case "int":
		return tags.IntValue(int64(r.IntN(60)))
	case "bool":
		return tags.BoolValue(r.IntN(2) == 0)
	}
	return tags.StringValue(string(rune('a' + r.IntN(5))))
}

func sameAsNaive(t *testing.T, got []history.Interval, all []history.Sample, q history.Query) {
	t.Helper()
	next := q.Start
	now := q.End
	if !q.Now.IsZero() && q.Now.Before(q.End) {
		now = q.Now
	}
	number := func(v tags.Value) float64 {
		f, ok := v.Float()
		if !ok {
			return math.NaN()
		}
		return f
	}
	near := func(want float64, v tags.Value, f string) {
		t.Helper()
		require.InDelta(t, want, number(v), 1e-6*(1+math.Abs(want)), f)
	}
	for i := range got {
		g := &got[i]
		require.Equal(t, next, g.Start)
		next = g.End
		n := naively(all, g.Start, g.End, now, q.Uncertain)
		require.Equal(t, n.count, g.Stats.Count)
		require.Equal(t, n.held, g.Stats.Held)
		require.Equal(t, n.count == 0 && q.Fill != history.FillNone && n.previous != nil && g.Start.Before(now), g.Filled)
		if n.numbers > 0 {
			integral := n.stepped
			if q.Sloped {
				integral = n.sloped
			}
			near(integral/n.numbers.Seconds(), g.Value(history.TimeAverage), "timeAverage")
		}
		if len(n.states) <= history.MaxStates {
			require.Len(t, g.Stats.States, len(n.states))
			for _, s := range g.Stats.States {
				require.Equal(t, n.states[s.Value], s.Held)
			}
		} else {
			require.True(t, g.Stats.ManyStates)
			require.Empty(t, g.Stats.States)
		}
		switch {
		case n.count > 0:
			require.Equal(t, n.first, g.Value(history.First))
			require.Equal(t, n.last, g.Value(history.Last))
		case !g.Filled:
			require.True(t, g.Value(history.First).IsZero())
			require.True(t, g.Value(history.Average).IsZero())
		case q.Fill == history.FillLinear && n.following != nil && isNumber(n.previous.Value) && isNumber(n.following.Value):
			from, to := number(n.previous.Value), number(n.following.Value)
			share := g.Start.Sub(n.previous.Time).Seconds() / n.following.Time.Sub(n.previous.Time).Seconds()
			near(from+(to-from)*share, g.Value(history.First), "linear")
		default:
			require.Equal(t, n.previous.Value, g.Value(history.First))
		}
		if len(n.values) == 0 {
			continue
		}
		sum, squares := 0.0, 0.0
		for _, v := range n.values {
			sum += v
		}
		mean := sum / float64(len(n.values))
		for _, v := range n.values {
			squares += (v - mean) * (v - mean)
		}
		near(slices.Min(n.values), g.Value(history.Min), "min")
		near(slices.Max(n.values), g.Value(history.Max), "max")
		near(slices.Max(n.values)-slices.Min(n.values), g.Value(history.Range), "range")
		near(mean, g.Value(history.Average), "average")
		near(math.Sqrt(squares/float64(len(n.values))), g.Value(history.StdDev), "stdDev")
	}
	require.Equal(t, q.End, next)
}

func isNumber(v tags.Value) bool { return v.Type() == tags.Int || v.Type() == tags.Float }

func TestAValueHoldsUntilTheNextSample(t *testing.T) {
	bad := at(180, tags.Value{})
	bad.Quality = tags.Bad
	store := fill(t, at(-30, float(10)), at(30, float(20)), bad, at(240, float(40)))
	got := intervals(t, store, history.Query{Start: noon, End: noon.Add(6 * time.Minute), Period: minute(1), Now: noon.Add(270 * time.Second)})
	var averages []string
	var good []float64
	for _, i := range got {
		averages = append(averages, i.Value(history.TimeAverage).String())
		good = append(good, i.PercentGood())
	}
	require.Equal(t, []string{"15", "20", "20", "", "40", ""}, averages)
	require.Equal(t, []float64{100, 100, 100, 0, 100, 0}, good)
	require.Equal(t, []tags.Quality{tags.Good, tags.Bad, tags.Good, tags.Bad},
		[]tags.Quality{got[0].Quality(), got[3].Quality(), got[4].Quality(), got[5].Quality()})
	require.Equal(t, 30*time.Second, got[4].Stats.Held, "what is in the future is not known")
}

func TestAggregatesBeyondAFloatAreMissing(t *testing.T) {
	store := fill(t, at(1, float(math.MaxFloat64)), at(2, float(math.MaxFloat64)), at(3, float(-math.MaxFloat64)))
	got := intervals(t, store, history.Query{Start: noon, End: noon.Add(time.Minute), Period: minute(1)})
	require.Equal(t, float(math.MaxFloat64), got[0].Value(history.Max))
	for _, f := range []history.Function{history.Average, history.TimeAverage, history.StdDev, history.Range} {
		require.True(t, got[0].Value(f).IsZero(), f)
	}
}

func TestIntsKeepTheirDigits(t *testing.T) {
	store := fill(t, at(1, tags.IntValue(math.MaxInt64-1)), at(2, tags.IntValue(math.MaxInt64)), at(3, tags.IntValue(math.MaxInt64-2)))
	got := intervals(t, store, history.Query{Start: noon, End: noon.Add(time.Minute), Period: minute(1)})
	require.Equal(t, tags.IntValue(math.MaxInt64), got[0].Value(history.Max))
	require.Equal(t, tags.IntValue(math.MaxInt64-2), got[0].Value(history.Min))
	require.Equal(t, float(2), got[0].Value(history.Range))
}

func TestIntervalsOfTheCalendar(t *testing.T) {
	starts := func(zone, start, end, period string) (out []string) {
		t.Helper()
		z, err := time.LoadLocation(zone)
		require.NoError(t, err)
		p, err := history.ParsePeriod(period)
		require.NoError(t, err)
		require.Equal(t, period, p.String())
		from, err := time.ParseInLocation("2006-01-02 15:04", start, z)
		require.NoError(t, err)
		until, err := time.ParseInLocation("2006-01-02 15:04", end, z)
		require.NoError(t, err)
		for _, i := range intervals(t, history.NewMemory(), history.Query{Start: from, End: until, Period: p, Zone: z}) {
			out = append(out, i.Start.In(z).Format("01-02 15:04")+" "+i.End.Sub(i.Start).String())
		}
		return out
	}
	require.Equal(t, []string{"03-28 10:30 13h30m0s", "03-29 00:00 23h0m0s", "03-30 00:00 24h0m0s", "03-31 00:00 1h0m0s"},
		starts("Europe/Berlin", "2026-03-28 10:30", "2026-03-31 01:00", "1d"), "the clocks go forward")
	require.Equal(t, []string{"10-25 00:00 25h0m0s", "10-26 00:00 24h0m0s"}, starts("Europe/Berlin", "2026-10-25 00:00", "2026-10-27 00:00", "1d"))
	require.Len(t, starts("Europe/Berlin", "2026-10-25 00:00", "2026-10-26 00:00", "1h"), 25)
	require.Equal(t, []string{"03-29 00:00 6h0m0s", "03-29 07:00 6h0m0s", "03-29 13:00 6h0m0s", "03-29 19:00 5h0m0s"},
		starts("Europe/Berlin", "2026-03-29 00:00", "2026-03-30 00:00", "6h"))
	require.Equal(t, []string{"11-03 12:00 12h0m0s", "11-04 01:00 23h0m0s", "11-05 00:00 24h0m0s"},
		starts("America/Sao_Paulo", "2018-11-03 12:00", "2018-11-06 00:00", "1d"), "a day without midnight")
	require.Equal(t, []string{"10-31 00:00 24h0m0s", "11-01 00:00 25h0m0s", "11-02 00:00 24h0m0s"},
		starts("America/Havana", "2026-10-31 00:00", "2026-11-03 00:00", "1d"), "a day with two midnights")
	require.Equal(t, []string{"01-01 00:00 96h0m0s", "01-05 00:00 168h0m0s", "01-12 00:00 24h0m0s"},
		starts("UTC", "2026-01-01 00:00", "2026-01-13 00:00", "1w"), "weeks begin on Monday")
	require.Equal(t, []string{"02-10 00:00 1200h0m0s", "04-01 00:00 2184h0m0s", "07-01 00:00 24h0m0s"},
		starts("UTC", "2026-02-10 00:00", "2026-07-02 00:00", "3mo"), "quarters")
	require.Equal(t, []string{"12-31 00:00 24h0m0s", "01-01 00:00 8784h0m0s"}, starts("UTC", "2023-12-31 00:00", "2025-01-01 00:00", "1y"))
	require.Equal(t, []string{"01-30 00:00 72h0m0s", "02-02 00:00 72h0m0s"}, starts("UTC", "2026-01-30 00:00", "2026-02-05 00:00", "3d"))
}

func TestQueriesThatAreRefused(t *testing.T) {
	ok := history.Query{Start: noon, End: noon.Add(time.Hour), Period: minute(1)}
	for name, change := range map[string]func(*history.Query) []string{
		"no tags":            func(*history.Query) []string { return []string{} },
		"tags":               func(*history.Query) []string { return make([]string, history.MaxAggregateTags+1) },
		"no period":          func(q *history.Query) []string { q.Period = history.Period{}; return nil },
		"a negative period":  func(q *history.Query) []string { q.Period.N = -1; return nil },
		"a huge period":      func(q *history.Query) []string { q.Period = history.Period{N: math.MaxInt, Unit: "w"}; return nil },
		"months":             func(q *history.Query) []string { q.Period.Unit = "mo"; return nil },
		"fill":               func(q *history.Query) []string { q.Fill = "x"; return nil },
		"too many intervals": func(q *history.Query) []string { q.Period = history.Period{N: 1, Unit: "ms"}; return nil },
		"of all tags":        func(q *history.Query) []string { q.Period = history.Period{N: 1, Unit: "s"}; return make([]string, 30) },
		"a long range":       func(q *history.Query) []string { q.End = q.Start.AddDate(101, 0, 0); return nil },
		"an endless range":   func(q *history.Query) []string { q.Start = time.Time{}; return nil },
	} {
		q := ok
		names := change(&q)
		if names == nil {
			names = []string{"a"}
		}
		_, err := history.Aggregate(t.Context(), history.NewMemory(), names, q)
		require.ErrorIs(t, err, tags.ErrInvalidRequest, name)
	}
	ok.End = ok.Start
	_, err := history.Aggregate(t.Context(), history.NewMemory(), []string{"a"}, ok)
	require.ErrorIs(t, err, tags.ErrInvalidTimeRange)
	for _, text := range []string{"", "m", "0m", "-1h", "1", "1x", "1.5h", "99999999999999999999s", "101y"} {
		_, err := history.ParsePeriod(text)
		require.Error(t, err, text)
	}
}

func TestTheCallerMayStopEarly(t *testing.T) {
	store := fill(t, at(1, float(1)), at(200, float(2)))
	all, err := history.Aggregate(t.Context(), store, []string{"a", "b"}, history.Query{Start: noon, End: noon.Add(time.Hour), Period: minute(1), Fill: history.FillLinear})
	require.NoError(t, err)
	for _, tag := range all {
		n := 0
		for _, err := range tag {
			require.NoError(t, err)
			if n++; n == 2 {
				break
			}
		}
		require.Equal(t, 2, n)
	}
}

// What an interval is filled with must not depend on how far before it the range starts.
func TestFillFindsTheValueBehindManyBadSamples(t *testing.T) {
	samples := []history.Sample{at(-3600, float(10))}
	for i := range 5000 {
		bad := at(-3000+float64(i)*2, tags.Value{})
		bad.Quality = tags.Bad
		samples = append(samples, bad)
	}
	samples = append(samples, at(7200, float(20)))
	store := fill(t, samples...)
	for _, s := range []history.Store{store, plain{store}} {
		for _, fill := range []history.Fill{history.FillPrevious, history.FillLinear} {
			want := intervals(t, s, history.Query{Start: noon.Add(-2 * time.Hour), End: noon.Add(3 * time.Hour), Period: minute(1), Fill: fill})
			got := intervals(t, s, history.Query{Start: noon, End: noon.Add(time.Hour), Period: minute(1), Fill: fill})
			require.Len(t, got, 60)
			for i := range got {
				require.True(t, got[i].Filled)
				require.Equal(t, want[120+i].Value(history.First), got[i].Value(history.First))
			}
		}
	}
}

// Sums of many durations round; the average of a constant must not show it.
func TestTheAverageOfAConstantIsTheConstant(t *testing.T) {
	for _, v := range []tags.Value{tags.BoolValue(true), tags.IntValue(3), float(0.1), float(-1e-300), float(20.7)} {
		f, _ := v.Float()
		r := rand.New(rand.NewPCG(3, 4))
		var list []history.Sample
		second := 0.0
		for range 2000 {
			second += r.Float64() * 10
			list = append(list, at(second, v))
		}
		list = append(list, at(second+1, float(50))) // beyond
		for _, sloped := range []bool{false, true} {
			q := history.Query{Start: noon.Add(100 * time.Second), End: list[1999].Time.Truncate(time.Microsecond), Period: minute(7), Sloped: sloped}
			for _, i := range intervals(t, fill(t, list...), q) {
				require.Equal(t, tags.FloatValue(f), i.Value(history.TimeAverage))
				require.Equal(t, tags.FloatValue(f), i.Value(history.Average))
				require.Equal(t, tags.FloatValue(0), i.Value(history.StdDev))
			}
		}
	}
}

package learn_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/learn"
)

// dailySeason returns a season of a day with values of 10 above and below the mean.
func dailySeason(tb testing.TB) *learn.Season {
	tb.Helper()
	var times []time.Time
	var values []float64
	for i := range 7 * 144 {
		t := at(10 * i)
		times, values = append(times, t), append(values, daily(t))
	}
	s, err := learn.FindSeason(context.Background(), times, values)
	require.NoError(tb, err)
	require.NotNil(tb, s)
	return s
}

func daily(t time.Time) float64 {
	return 10 * math.Sin(2*math.Pi*float64(t.Hour()*60+t.Minute())/1440)
}

func TestFindSeason(t *testing.T) {
	const hour = time.Hour
	square := func(t time.Time, period, on time.Duration) float64 {
		if time.Duration(t.UnixNano())%period < on {
			return 10
		}
		return 0
	}
	for _, c := range []struct {
		name   string
		step   time.Duration
		count  int
		value  func(t time.Time, r *rand.Rand) float64
		period time.Duration // 0 for none
	}{
		{"day", 10 * time.Minute, 1500, func(t time.Time, r *rand.Rand) float64 { return daily(t) + 3*r.NormFloat64() }, 24 * hour},
		{"day with a trend", 10 * time.Minute, 1500, func(t time.Time, r *rand.Rand) float64 {
			return daily(t) + 5*t.Sub(at(0)).Hours()/24 + r.NormFloat64()
		}, 24 * hour},
		{"week", hour, 1500, func(t time.Time, r *rand.Rand) float64 {
			if t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
				return r.NormFloat64()
			}
			return 20 + r.NormFloat64()
		}, 7 * 24 * hour},
		{"cycle of 47 s", time.Second, 5000, func(t time.Time, r *rand.Rand) float64 {
			return square(t, 47*time.Second, 20*time.Second) + r.NormFloat64()
		}, 47 * time.Second},
		{"cycle of 47.3 s", time.Second, 5000, func(t time.Time, r *rand.Rand) float64 {
			return square(t, 47300*time.Millisecond, 20*time.Second) + r.NormFloat64()
		}, 47300 * time.Millisecond},
		{"shift", 5 * time.Minute, 1500, func(t time.Time, r *rand.Rand) float64 { return square(t, 8*hour, hour) + r.NormFloat64() }, 8 * hour},
		{"noise", time.Minute, 3000, func(_ time.Time, r *rand.Rand) float64 { return r.NormFloat64() }, 0},
		{"two cycles", 10 * time.Minute, 288, func(t time.Time, r *rand.Rand) float64 { return daily(t) }, 0},
		{"constant", time.Minute, 3000, func(time.Time, *rand.Rand) float64 { return 5 }, 0},
		{"trend", time.Minute, 3000, func(t time.Time, _ *rand.Rand) float64 { return t.Sub(at(0)).Hours() }, 0},
		{"too few", hour, 49, func(t time.Time, _ *rand.Rand) float64 { return square(t, 4*hour, hour) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var times []time.Time
			var values []float64
			for i := range c.count {
				when := at(0).Add(time.Duration(i) * c.step)
				v := c.value(when, r)
				switch { // gaps, missing and wrong values
				case i > 300 && i < 320:
					continue
				case r.IntN(50) == 0:
					v = math.NaN()
				case r.IntN(200) == 0:
					v += 1000
				}
				times, values = append(times, when), append(values, v)
			}
			r.Shuffle(len(times), func(i, j int) {
				times[i], times[j] = times[j], times[i]
				values[i], values[j] = values[j], values[i]
			})
			s, err := learn.FindSeason(context.Background(), times, values)
			require.NoError(t, err)
			require.InDelta(t, c.period.Seconds(), s.Period().Seconds(), 1e-3*c.period.Seconds())
			if c.period == 0 {
				require.Nil(t, s)
				require.Zero(t, s.At(at(0)))
				require.Zero(t, s.Strength())
			} else {
				require.Greater(t, s.Strength(), 0.5)
				require.LessOrEqual(t, s.Strength(), 1.0)
			}
		})
	}
}

func TestRandomWalksHaveNoSeason(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		times, values := make([]time.Time, 1500), make([]float64, 1500)
		for i := range times {
			times[i] = at(i)
			values[i] = r.NormFloat64()
			if i > 0 {
				values[i] += values[i-1]
			}
		}
		s, err := learn.FindSeason(context.Background(), times, values)
		require.NoError(t, err)
		if s != nil {
			found++
		}
	}
	require.LessOrEqual(t, found, 2)
}

func TestSeasonIsTheExpectedDifference(t *testing.T) {
	s := dailySeason(t)
	for _, year := range []int{1969, 2025, 2300} {
		for m := range 1440 {
			when := time.Date(year, 7, 1, 0, m, 0, 0, time.UTC)
			require.InDelta(t, daily(when), s.At(when), 0.5, when)
		}
	}
}

func TestDetectorWithASeasonFindsWhatThatHides(t *testing.T) {
	found := func(season *learn.Season) int {
		d := newTestDetector(t, learn.DetectorOptions{Season: season})
		n := 0
		for i, x := range noise(8, 10000) {
			x += daily(at(i))
			if i >= 9000 && i < 9200 {
				x += 2
			}
			s := d.Update(at(i), x)
			if s.Anomalous && i >= 9000 && i < 9200 {
				n++
			}
			if season != nil && i > 2000 && i < 9000 {
				require.InDelta(t, s.Expected, 20+daily(at(i)), 3, "sample %d", i)
			}
		}
		return n
	}
	require.Zero(t, found(nil))
	require.Greater(t, found(dailySeason(t)), 10)
}

func TestFindSeasonErrors(t *testing.T) {
	_, err := learn.FindSeason(context.Background(), make([]time.Time, 3), make([]float64, 4))
	require.ErrorIs(t, err, learn.ErrData)
	_, err = learn.FindSeason(context.Background(), nil, nil)
	require.ErrorIs(t, err, learn.ErrData)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	times, values := make([]time.Time, 1000), make([]float64, 1000)
	for i := range times {
		times[i], values[i] = at(10*i), daily(at(10*i))
	}
	_, err = learn.FindSeason(canceled, times, values)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkFindSeason(b *testing.B) {
	times, values := make([]time.Time, 43200), make([]float64, 43200) // a month of minutes
	random := noise(1, len(times))
	for i := range times {
		times[i], values[i] = at(i), daily(at(i))+random[i]
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := learn.FindSeason(context.Background(), times, values); err != nil {
			b.Fatal(err)
		}
	}
}

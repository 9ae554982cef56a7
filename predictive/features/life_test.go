package features

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func hour(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }

// extractor returns an extractor for one signal.
func extractor(t *testing.T, o Options) *Extractor {
	t.Helper()
	f, err := NewFitter([]Signal{{Name: "p"}}, o)
	require.NoError(t, err)
	for i := range 10 {
		f.Add(0, hour(float64(i)), float64(i*i))
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	return x
}

// rowAt returns the features by name.
func rowAt(t *testing.T, l *Life, at time.Time) map[string]float64 {
	t.Helper()
	names := l.x.Names()
	row := make([]float64, len(names))
	require.NoError(t, l.Row(at, row))
	features := make(map[string]float64)
	for i, name := range names {
		features[name] = row[i]
	}
	return features
}

func TestFeaturesOfCycles(t *testing.T) {
	x := extractor(t, Options{Window: 6, Short: 2, Smooth: 2, Baseline: 3})
	require.Equal(t, []string{"p.mean", "p.stdDev", "p.trend", "p.last", "p.shortMean", "p.baselineDifference", "p.ewma", "age"}, x.Names())
	l := x.Begin(day)
	for i := 1; i <= 10; i++ {
		require.True(t, l.Add(0, hour(float64(i)), float64(i*i)))
	}
	var weights, weighted float64
	for back := range 6 {
		w := math.Exp(-float64(back) / 2)
		weights += w
		weighted += w * float64((10-back)*(10-back))
	}
	row := rowAt(t, l, hour(10))
	for name, want := range map[string]float64{
		"p.mean":               (25. + 36 + 49 + 64 + 81 + 100) / 6,
		"p.stdDev":             28.195153,
		"p.trend":              15,
		"p.last":               100,
		"p.shortMean":          (81. + 100) / 2,
		"p.baselineDifference": (81.+100)/2 - (1.+4+9)/3,
		"p.ewma":               weighted / weights,
		"age":                  10,
	} {
		require.InDelta(t, want, row[name], 1e-5, name)
	}
}

// What a plant records: any distances, more samples at some times, gaps.
func TestFeaturesDoNotDependOnTheTimesOfSamples(t *testing.T) {
	x := extractor(t, Options{})
	random := rand.New(rand.NewPCG(1, 1))
	l := x.Begin(day)
	line := func(h float64) float64 { return 40 + 0.5*h }
	for h := 0.0; h < 200; h += 0.001 + 0.8*random.Float64()*random.Float64() {
		if h > 60 && h < 75 || h > 180 && h < 190 {
			continue
		}
		require.True(t, l.Add(0, hour(h), line(h)))
	}
	row := rowAt(t, l, hour(200))
	require.InDelta(t, 0.5, row["p.trend"], 1e-9)
	require.InDelta(t, line(198), row["p.last"], 1.5)
	require.InDelta(t, line(195)-line(10), row["p.baselineDifference"], 1)

	require.InDelta(t, 0.5, rowAt(t, l, hour(215))["p.trend"], 1e-9, "the window has the samples that are left")
	gone := rowAt(t, l, hour(231))
	for _, kind := range x.perSignal {
		require.True(t, math.IsNaN(gone["p."+string(kind)]), kind)
	}
	require.InDelta(t, 231, gone["age"], 0)
}

func TestSamplesThatAreOfNoUseChangeNothing(t *testing.T) {
	x := extractor(t, Options{})
	plain, dirty := x.Begin(day), x.Begin(day)
	for i := 1; i <= 50; i++ {
		at, value := hour(float64(i)*0.7), math.Sin(float64(i))
		require.True(t, plain.Add(0, at, value))
		require.True(t, dirty.Add(0, at, value))
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e200} {
			require.False(t, dirty.Add(0, at.Add(time.Second), bad))
		}
		require.False(t, dirty.Add(0, at, 77), "a time that repeats")
		require.False(t, dirty.Add(0, at.Add(-time.Hour), 77), "a time that goes back")
		require.False(t, dirty.Add(1, at, 77), "an unknown signal")
		require.False(t, dirty.Add(-1, at, 77), "an unknown signal")
		require.False(t, dirty.Add(0, time.Time{}, 77), "no time")
	}
	require.Equal(t, rowAt(t, plain, hour(40)), rowAt(t, dirty, hour(40)))
	require.Equal(t, Stats{Used: 50, Bad: 350, Repeated: 50, Late: 50}, dirty.Stats())
	require.Equal(t, Stats{Used: 50}, plain.Stats())
}

func TestCleanPutsSamplesInOrder(t *testing.T) {
	signals := []Signal{{Name: "p"}, {Name: "load", Setting: true}}
	samples := Clean([]Sample{
		{0, hour(2), 5, false}, {0, hour(1), 4, false}, {0, hour(2), 6, false}, {1, hour(2), 9, false},
		{0, hour(1), math.NaN(), false}, {0, hour(3), 8, true}, {2, hour(1), 1, false}, {0, time.Time{}, 1, false},
	}, signals)
	require.Equal(t, []Sample{{0, hour(1), 4, false}, {1, hour(2), 9, false}, {0, hour(2), 6, false}}, samples)
}

func TestRowOfThePastIsRefused(t *testing.T) {
	x := extractor(t, Options{})
	l := x.Begin(day)
	l.Add(0, hour(5), 1)
	row := make([]float64, len(x.Names()))
	require.ErrorIs(t, l.Row(hour(4.99), row), ErrPast)
	require.NoError(t, l.Row(hour(5), row))
	require.Error(t, l.Row(hour(5), row[1:]))
	require.Error(t, l.Row(time.Time{}, row))
}

// A service that starts again has the last window of samples, and the baseline that it stored.
func TestResumedLifeHasTheSameFeatures(t *testing.T) {
	x := extractor(t, Options{})
	l, resumed := x.Begin(day), (*Life)(nil)
	for i := range 2000 {
		at, value := hour(float64(i)*0.1), math.Cos(float64(i)/50)
		l.Add(0, at, value)
		if i == 1000 {
			resumed = x.Resume(day, l.Baseline())
		}
		if i >= 1000 {
			resumed.Add(0, at, value)
		}
	}
	want, got := rowAt(t, l, hour(200)), rowAt(t, resumed, hour(200))
	for name, value := range want {
		require.InDelta(t, value, got[name], 1e-12, name)
	}

	unknown := x.Resume(time.Time{}, nil)
	unknown.Add(0, hour(1), 2)
	row := rowAt(t, unknown, hour(1))
	require.True(t, math.IsNaN(row["p.baselineDifference"]))
	require.True(t, math.IsNaN(row["age"]))
	require.InDelta(t, 2, row["p.mean"], 0)
	require.True(t, math.IsNaN(x.Begin(day).Baseline()[0]), "there is none yet")
}

func TestSupportTellsHowMuchARowIsBasedOn(t *testing.T) {
	f, err := NewFitter([]Signal{{Name: "a"}, {Name: "b"}, {Name: "constant"}}, Options{})
	require.NoError(t, err)
	for i := range 10 {
		f.Add(0, hour(float64(i)), float64(i))
		f.Add(1, hour(float64(i)), float64(-i))
		f.Add(2, hour(float64(i)), 3)
	}
	x, err := f.Fit(t.Context())
	require.NoError(t, err)
	l := x.Begin(day)
	samples, newest := l.Support(hour(1))
	require.Zero(t, samples)
	require.True(t, newest.IsZero())
	for i := 1; i <= 40; i++ {
		l.Add(0, hour(float64(i)), 1)
		if i <= 20 {
			l.Add(1, hour(float64(i)), 1)
		}
	}
	samples, newest = l.Support(hour(40))
	require.Equal(t, 10, samples)
	require.True(t, newest.Equal(hour(20)))
}

func TestStreamingAllocatesNothing(t *testing.T) {
	x := extractor(t, Options{})
	l, row, second := x.Begin(day), make([]float64, len(x.Names())), 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		second++
		l.Add(0, day.Add(time.Duration(second)*time.Second), float64(second%7))
		if l.Row(day.Add(time.Duration(second)*time.Second), row) != nil {
			panic("no row")
		}
	}))
}

func TestKindsAndOptions(t *testing.T) {
	require.Equal(t, []string{"p.mean", "p.stdDev", "p.trend"}, extractor(t, Options{Kinds: []Kind{Trend, Mean, StdDev}}).Names())
	require.NotEqual(t, extractor(t, Options{}).Version(), extractor(t, Options{Window: 20}).Version())
	for _, o := range []Options{{Step: -1}, {Window: -1}, {Window: 20_000}, {Short: 31}, {Kinds: []Kind{"x"}}, {FitRows: -1}} {
		_, err := NewFitter([]Signal{{Name: "p"}}, o)
		require.Error(t, err, o)
	}
	for _, signals := range [][]Signal{nil, {{}}, {{Name: "a"}, {Name: "a"}}, {{Name: "a", Setting: true}}} {
		_, err := NewFitter(signals, Options{})
		require.Error(t, err, signals)
	}
}

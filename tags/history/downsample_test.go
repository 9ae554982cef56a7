package history_test

import (
	"errors"
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

var errStore = errors.New("store failed")

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// series makes a sample a second.
func series(n int, value func(i int) history.Sample) []history.Sample {
	list := make([]history.Sample, n)
	for i := range list {
		list[i] = value(i)
		list[i].Tag, list[i].Time = "plc.a", day.Add(time.Duration(i)*time.Second)
	}
	return list
}

func wave(i int) history.Sample {
	return history.Sample{Value: tags.FloatValue(math.Sin(float64(i) / 500)), Quality: tags.Good}
}

func sequence(list []history.Sample) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func downsample(t testing.TB, list []history.Sample, limit int) []history.Sample {
	t.Helper()
	got, err := history.Downsample(sequence(list), day, day.Add(time.Duration(len(list)+1)*time.Second), limit)
	require.NoError(t, err)
	return got
}

func TestDownsampleKeepsFew(t *testing.T) {
	for _, n := range []int{0, 1, 99, 100} {
		list := series(n, wave)
		require.True(t, slices.Equal(list, downsample(t, list, 100)))
	}
	require.LessOrEqual(t, len(downsample(t, series(101, wave), 100)), 100)
}

func TestDownsampleKeepsTheShape(t *testing.T) {
	list := series(100_000, wave)
	list[31_234].Value = tags.FloatValue(50)
	list[77_777].Value = tags.FloatValue(-50)
	for i := 50_000; i < 50_003; i++ {
		list[i] = history.Sample{Tag: "plc.a", Time: list[i].Time, Quality: tags.Bad, Reason: tags.ReasonTimeout}
	}
	got := downsample(t, list, 200)
	require.LessOrEqual(t, len(got), 200)
	require.GreaterOrEqual(t, len(got), 2*40, "each of the 40 parts has its first and last")
	for _, i := range []int{0, 99_999, 31_234, 77_777, 50_000} {
		require.Contains(t, got, list[i])
	}
}

func TestDownsampleOfTextsAndSwitches(t *testing.T) {
	texts := series(10_000, func(i int) history.Sample {
		return history.Sample{Value: tags.StringValue("on"), Quality: tags.Good}
	})
	texts[5500].Quality = tags.Uncertain
	got := downsample(t, texts, 50)
	require.Len(t, got, 10*2+1)
	require.Contains(t, got, texts[5500])

	switches := series(10_000, func(i int) history.Sample {
		return history.Sample{Value: tags.BoolValue(i == 5001), Quality: tags.Good}
	})
	require.Contains(t, downsample(t, switches, 50), switches[5001], "a short pulse is seen")
}

// A range that begins long before the first sample does not waste the points.
func TestDownsampleOfALongRange(t *testing.T) {
	list := series(10_000, wave)
	for _, start := range []time.Time{{}, day.AddDate(-1, 0, 0)} {
		got, err := history.Downsample(sequence(list), start, day.Add(10_000*time.Second), 100)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(got), 2*20)
	}
}

// Nor does one that ends long after the last sample, or both.
func TestDownsampleOfARangeThatEndsLater(t *testing.T) {
	list := series(86_400, wave)
	list[31_234].Value = tags.FloatValue(50)
	list[77_777].Value = tags.FloatValue(-50)
	for _, end := range []time.Time{
		day.AddDate(0, 0, 2), day.AddDate(0, 1, 0), day.AddDate(100, 0, 0), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		for _, limit := range []int{5, 9, 10, 23, 2000} {
			got, err := history.Downsample(sequence(list), time.Time{}, end, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(got), limit)
			require.GreaterOrEqual(t, len(got), max(2*(limit/5/2), 4))
			for _, i := range []int{0, 31_234, 77_777, 86_399} {
				require.Contains(t, got, list[i])
			}
		}
	}
	exact := downsample(t, list, 2000)
	require.GreaterOrEqual(t, len(exact), 2*395, "a range that the samples fill uses every part")
}

// A store that breaks its promises must not bring the caller down.
func TestDownsampleOfDisorder(t *testing.T) {
	list := series(100, wave)
	slices.Reverse(list)
	for _, end := range []time.Time{day.Add(time.Second), day.AddDate(1, 0, 0)} {
		got, err := history.Downsample(sequence(list), day.Add(-time.Hour), end, 20)
		require.NoError(t, err)
		require.LessOrEqual(t, len(got), 20)
	}
}

func TestDownsampleRefuses(t *testing.T) {
	_, err := history.Downsample(sequence(nil), day, day.Add(1), 4)
	require.ErrorIs(t, err, tags.ErrInvalidRequest)
	_, err = history.Downsample(sequence(nil), day, day, 5)
	require.ErrorIs(t, err, tags.ErrInvalidTimeRange)
	broken := func(yield func(history.Sample, error) bool) { yield(history.Sample{}, errStore) }
	_, err = history.Downsample(broken, day, day.Add(1), 5)
	require.ErrorIs(t, err, errStore)
}

// Whatever the samples are: never more than the limit, in order, each one of them, with the first,
// the last, the lowest and the highest.
func FuzzDownsample(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint16(100*seed), uint8(7*seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, limit uint8) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		most := int(limit)%200 + 5
		at := day
		list := make([]history.Sample, int(n)%3000)
		for i := range list {
			at = at.Add(time.Duration(1 + rnd.ExpFloat64()*math.Pow(10, float64(rnd.IntN(12)))))
			list[i] = history.Sample{Time: at, Value: tags.FloatValue(rnd.NormFloat64()), Quality: tags.Quality(rnd.IntN(3))}
			if rnd.IntN(10) == 0 {
				list[i].Value = tags.StringValue("x")
			}
		}
		end := at.Add(1 + time.Duration(rnd.ExpFloat64()*math.Pow(10, float64(rnd.IntN(18)))))
		got, err := history.Downsample(sequence(list), day, end, most)
		require.NoError(t, err)
		require.LessOrEqual(t, len(got), most)
		if len(list) <= most {
			require.Len(t, got, len(list))
			return
		}
		kept := map[time.Time]history.Sample{}
		for i, s := range got {
			require.True(t, i == 0 || got[i-1].Time.Before(s.Time), "in order, each once")
			kept[s.Time] = s
		}
		low, high := extremes(list)
		for _, s := range []history.Sample{list[0], list[len(list)-1], low, high} {
			require.Equal(t, s, kept[s.Time])
		}
		for _, s := range list {
			if k, ok := kept[s.Time]; ok {
				require.Equal(t, s, k)
				delete(kept, s.Time)
			}
		}
		require.Empty(t, kept, "nothing is made up")
	})
}

// extremes gives the first sample of the lowest and of the highest number.
func extremes(list []history.Sample) (low, high history.Sample) {
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, s := range list {
		v, ok := s.Value.Float()
		if ok && v < lowest {
			low, lowest = s, v
		}
		if ok && v > highest {
			high, highest = s, v
		}
	}
	if math.IsInf(lowest, 1) {
		return list[0], list[0]
	}
	return low, high
}

// A plot of 2,000 points out of 1,000,000.
func BenchmarkDownsample(b *testing.B) {
	list := series(1_000_000, wave)
	for b.Loop() {
		downsample(b, list, history.DefaultPlotPoints)
	}
}

package predictivepart_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

var day = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return day.Add(time.Duration(seconds) * time.Second) }

func appendTo(t *testing.T, store history.Store, list ...history.Sample) {
	t.Helper()
	for i := range list {
		list[i].Tag, list[i].Time = "pump1.a", at(i)
	}
	require.NoError(t, store.Append(t.Context(), list))
}

func collect(t *testing.T, list iter.Seq2[predictive.Sample, error]) (all []predictive.Sample) {
	t.Helper()
	for s, err := range list {
		require.NoError(t, err)
		all = append(all, s)
	}
	return all
}

func TestHistoryHasNumbers(t *testing.T) {
	store := history.NewMemory()
	appendTo(t, store,
		history.Sample{Value: tags.FloatValue(1.5), Quality: tags.Good},
		history.Sample{Value: tags.IntValue(-7), Quality: tags.Uncertain, Reason: tags.ReasonOutOfRange},
		history.Sample{Value: tags.BoolValue(true), Quality: tags.Good},
		history.Sample{Value: tags.BoolValue(false), Quality: tags.Good},
		history.Sample{Value: tags.StringValue("12"), Quality: tags.Good},
		history.Sample{Quality: tags.Bad},
		history.Sample{Value: tags.FloatValue(3), Quality: tags.Bad},
	)
	want := []predictive.Sample{{Time: at(0), Value: 1.5}, {Time: at(1), Value: -7}, {Time: at(2), Value: 1}, {Time: at(3)}, {Time: at(6), Value: 3, Bad: true}}
	h := predictivepart.NewHistory(store)
	require.Equal(t, want, collect(t, h.Samples(t.Context(), "pump1.a", day, at(60))))
	require.Equal(t, want[1:3], collect(t, h.Samples(t.Context(), "pump1.a", at(1), at(3))))
	require.Empty(t, collect(t, h.Samples(t.Context(), "pump2.a", day, at(60))))
	require.Empty(t, collect(t, predictivepart.NewHistory(nil).Samples(t.Context(), "pump1.a", day, at(60))), "no history is kept")
}

// onlyNewest is a store whose Range is not to be used.
type onlyNewest struct {
	*history.Memory
	t *testing.T
}

func (s onlyNewest) Range(context.Context, string, time.Time, time.Time) iter.Seq2[history.Sample, error] {
	s.t.Error("the whole history was read")
	return func(func(history.Sample, error) bool) {}
}

func TestNewestSamplesAreReadFromTheEnd(t *testing.T) {
	store := history.NewMemory()
	var list []history.Sample
	for i := range 100 {
		s := history.Sample{Value: tags.IntValue(int64(i)), Quality: tags.Good}
		if i%2 == 1 {
			s.Quality = tags.Bad
		}
		list = append(list, s)
	}
	appendTo(t, store, list...)
	h, ok := predictivepart.NewHistory(onlyNewest{store, t}).(predictive.NewestReader)
	require.True(t, ok)
	newest := func(from, to time.Time, n int) (values []float64) {
		found, err := h.Newest(t.Context(), "pump1.a", from, to, n)
		require.NoError(t, err)
		for _, s := range found {
			require.False(t, s.Bad)
			values = append(values, s.Value)
		}
		return values
	}
	require.Equal(t, []float64{92, 94, 96, 98}, newest(day, at(1000), 4), "every other one is bad")
	require.Equal(t, []float64{4, 6}, newest(day, at(7), 2))
	require.Equal(t, []float64{4, 6, 8}, newest(at(3), at(10), 50))
	require.Empty(t, newest(at(200), at(300), 5))
}

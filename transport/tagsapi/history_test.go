package tagsapi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// An end in the future is common, such as the end of the month that is shown.
func TestHistoryThatEndsInTheFuture(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(t.Context())) }()
	require.NoError(t, engine.DefineTags(tags.Tag{Name: "plc.a", Driver: "plc", DataType: tags.Int}))
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	var list []history.Sample
	for i := range 20_000 {
		list = append(list, history.Sample{Tag: "plc.a", Time: now.Add(time.Duration(i-20_000) * time.Second), Value: tags.IntValue(int64(i)), Quality: tags.Good})
	}
	store := history.NewMemory()
	require.NoError(t, store.Append(t.Context(), list))
	api, err := New(engine, Options{History: store, Now: func() time.Time { return now }})
	require.NoError(t, err)
	points := func(start, end time.Time) []gen.HistoryPoint {
		most := 500
		a, err := api.handlers.GetTagHistory(t.Context(), gen.GetTagHistoryRequestObject{
			TagName: "plc.a", Params: gen.GetTagHistoryParams{Start: start, End: end, MaxPoints: &most},
		})
		require.NoError(t, err)
		return a.(gen.GetTagHistory200JSONResponse).Points
	}
	till := points(list[0].Time, now)
	require.GreaterOrEqual(t, len(till), 2*99)
	require.Equal(t, till, points(list[0].Time, now.AddDate(100, 0, 0)))

	ahead := history.Sample{Tag: "plc.a", Time: now.Add(time.Hour), Value: tags.IntValue(-1), Quality: tags.Good}
	require.NoError(t, store.Append(t.Context(), []history.Sample{ahead}))
	with := points(list[0].Time, now.AddDate(0, 1, 0))
	require.Equal(t, ahead.Time, with[len(with)-1].Timestamp, "a device's clock may be ahead")
	require.Len(t, points(now.Add(time.Minute), now.AddDate(0, 1, 0)), 1)
}

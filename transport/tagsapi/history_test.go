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

// The history of a tag outlasts the tag, such as one of a bridge that was unbound.
func TestHistoryOfATagThatIsNotDefined(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(t.Context())) }()
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	store := history.NewMemory()
	require.NoError(t, store.Append(t.Context(), []history.Sample{{Tag: "press.a", Time: now.AddDate(0, 0, -10), Value: tags.IntValue(7), Quality: tags.Good}}))
	api, err := New(engine, Options{History: store, Now: func() time.Time { return now }})
	require.NoError(t, err)
	points := func(tag string, days int) (int, error) {
		a, err := api.handlers.GetTagHistory(t.Context(), gen.GetTagHistoryRequestObject{TagName: tag, Params: gen.GetTagHistoryParams{Start: now.AddDate(0, 0, -days)}})
		if err != nil {
			return 0, err
		}
		return len(a.(gen.GetTagHistory200JSONResponse).Points), nil
	}
	n, err := points("press.a", 30)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = points("press.a", 1)
	require.NoError(t, err, "it has samples, if not of this time")
	require.Zero(t, n)
	_, err = points("press.b", 30)
	require.ErrorIs(t, err, tags.ErrTagNotFound)
}

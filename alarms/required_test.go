package alarms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
)

// half is a store that implements only what is required.
type half struct{ alarms.Store }

func TestRequiredHalf(t *testing.T) {
	alarmstest.TestStore(t, func(testing.TB) (alarms.Store, func() alarms.Store) { return half{alarms.NewMemory()}, nil })
}

// TestServiceOverTheRequiredHalf compares services over one store, of which one sees the required methods only.
func TestServiceOverTheRequiredHalf(t *testing.T) {
	c := newClock()
	store := alarms.NewMemory()
	whole := service(t, store, alarms.Options{Now: c.now})
	start := c.now()
	var keys []string
	for i := range 1100 { // several pages
		a := pump(string(rune('a' + i%7)))
		a.Severity = alarms.Severity(i % 4)
		raise(t, whole, a)
		_, err := whole.Clear(t.Context(), alarms.ByKey(a.Key), "", "")
		require.NoError(t, err)
		if i < 7 {
			keys = append(keys, a.Key)
		}
		c.add(7 * time.Second)
	}
	active := raise(t, whole, pump("active"))
	_, err := whole.Acknowledge(t.Context(), alarms.ByID(active.ID), "anna", "")
	require.NoError(t, err)
	first, err := whole.RecentHistory(t.Context(), 500)
	require.NoError(t, err)
	c.add(time.Second)
	end := c.now()

	part := service(t, half{store}, alarms.Options{Now: c.now})
	codes, err := whole.Codes(t.Context(), keys)
	require.NoError(t, err)
	require.Len(t, codes, 7)
	got, err := part.Codes(t.Context(), append(keys, "new"))
	require.NoError(t, err)
	require.Positive(t, got["new"])
	delete(got, "new")
	require.Equal(t, codes, got)

	for _, o := range []alarms.Occurrence{active, first[499]} {
		for page := 1; page <= 2; page++ {
			want, total, err := whole.EventsOf(t.Context(), o.ID, page, 1)
			require.NoError(t, err)
			require.Equal(t, 2, total)
			events, n, err := part.EventsOf(t.Context(), o.ID, page, 1)
			require.NoError(t, err)
			require.Equal(t, total, n)
			require.Equal(t, want, events)
		}
	}

	trend, err := whole.Trend(t.Context(), start, end)
	require.NoError(t, err)
	points, err := part.Trend(t.Context(), start, end)
	require.NoError(t, err)
	require.Equal(t, trend, points)
	want, err := whole.Analytics(t.Context(), start, end)
	require.NoError(t, err)
	require.Equal(t, 1101, want.Count)
	figures, err := part.Analytics(t.Context(), start, end)
	require.NoError(t, err)
	require.Equal(t, want, figures)

	require.NoError(t, part.Trim(t.Context(), end))
	list, err := part.History(t.Context(), start, end, alarms.ListQuery{Page: 1, PageSize: 1})
	require.NoError(t, err)
	require.Equal(t, 1101, list.Total, "nothing is removed")
	yes := true
	resolution := alarms.ResolutionRequest{ResolvedBy: "anna", ActionTaken: "greased", WasSuccessful: &yes}
	_, err = part.Resolve(t.Context(), 1, resolution)
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	_, err = whole.Resolve(t.Context(), 1, resolution)
	require.NoError(t, err)
}

// TestShelvingEndsOverTheRequiredHalf shelves an alarm by one service and starts the next after its time limit.
func TestShelvingEndsOverTheRequiredHalf(t *testing.T) {
	c := newClock()
	store := half{alarms.NewMemory()}
	s := service(t, store, alarms.Options{Now: c.now})
	raise(t, s, pump("a"))
	_, err := s.Shelve(t.Context(), alarms.ByKey("a"), time.Hour, "anna", "")
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	c.add(2 * time.Hour)
	s = service(t, store, alarms.Options{Now: c.now})
	active, err := s.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 1)
}

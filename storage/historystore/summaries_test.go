package historystore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags/history"
)

// Chunks of earlier versions have no summary. One that is read gets it; one that is damaged or of another form is as none.
func TestSummariesAreMadeWhenTheyAreMissed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		h := db.History()
		p := storetest.NewPlant(2)
		require.NoError(t, h.Append(t.Context(), p.Batch(20_000)))
		require.NoError(t, h.Compact(t.Context()))
		hour := history.Query{Start: p.At.Add(-2 * time.Hour), End: p.At, Period: history.Period{N: 15, Unit: "m"}}
		read := func() (out []history.Interval) {
			all, err := history.Aggregate(t.Context(), h, p.Names[:1], hour)
			require.NoError(t, err)
			for i, err := range all[0] {
				require.NoError(t, err)
				out = append(out, i)
			}
			return out
		}
		want := read()
		require.Len(t, want, 8)
		count := func(where string) (n int) {
			set, err := db.SetOf(historystore.Schema())
			require.NoError(t, err)
			require.NoError(t, set.Row(t.Context(), "test", "SELECT COUNT(*) FROM history_summary"+where, nil, func(row storage.Scanner) error { return row.Scan(&n) }))
			return n
		}
		made := count("")
		require.GreaterOrEqual(t, made, 18)
		db.ExecHistory(t, "DELETE FROM history_summary")
		near(t, want, read())
		require.NoError(t, h.CompactDue(t.Context()))
		require.GreaterOrEqual(t, count(""), 7, "of the chunks that were read")
		require.Zero(t, count(" WHERE tag_id = (SELECT id FROM history_tag WHERE name = '"+p.Names[1]+"')"), "nobody has read these")
		near(t, want, read())
		db.ExecHistory(t, "UPDATE history_summary SET data = ?", []byte{1, 2, 3, 4, 5})
		near(t, want, read())
		require.NoError(t, h.Trim(t.Context(), p.At.Add(time.Hour), 0))
		require.Zero(t, count(" WHERE tag_id = (SELECT id FROM history_tag WHERE name = '"+p.Names[0]+"')"), "they go with their chunks")
	})
}

// near compares aggregates with room for the order in which floats are added.
func near(t *testing.T, want, got []history.Interval) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i].Stats.Count, got[i].Stats.Count)
		require.Equal(t, want[i].Stats.Held, got[i].Stats.Held)
		for _, f := range []history.Function{history.Min, history.Max, history.Average, history.TimeAverage, history.StdDev} {
			w, _ := want[i].Value(f).Float()
			g, ok := got[i].Value(f).Float()
			require.True(t, ok)
			require.InDelta(t, w, g, 1e-9, f)
		}
	}
}

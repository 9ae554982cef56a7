package historystore_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags"
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
		count := func(where string) int { return queryInt(t, db, "SELECT COUNT(*) FROM history_summary"+where) }
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
		db.ExecHistory(t, "UPDATE history_total SET bytes = ?", chunkBytes(t, db))
		require.NoError(t, h.CompactDue(t.Context()))
		requireTotal(t, db)
		near(t, want, read())
		require.NoError(t, h.Trim(t.Context(), p.At.Add(time.Hour), 0))
		require.Zero(t, count(" WHERE tag_id = (SELECT id FROM history_tag WHERE name = '"+p.Names[0]+"')"), "they go with their chunks")
	})
}

// queryInt returns the number that a query returns.
func queryInt(t *testing.T, db *storetest.DB, query string) (n int) {
	t.Helper()
	set, err := db.SetOf(historystore.Schema())
	require.NoError(t, err)
	require.NoError(t, set.Row(t.Context(), "test", query, nil, func(row storage.Scanner) error { return row.Scan(&n) }))
	return n
}

// chunkBytes returns what the chunks and their summaries take.
func chunkBytes(t *testing.T, db *storetest.DB) int {
	t.Helper()
	return queryInt(t, db, "SELECT CAST(COALESCE(SUM(LENGTH(data) + 64), 0) AS BIGINT) FROM history_chunk") +
		queryInt(t, db, "SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM history_summary")
}

// requireTotal compares the size that Trim goes by, and looks for summaries that have outlived their chunks.
func requireTotal(t *testing.T, db *storetest.DB) {
	t.Helper()
	stats, err := db.History().Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, chunkBytes(t, db), stats.ChunkBytes)
	require.Zero(t, queryInt(t, db, `SELECT COUNT(*) FROM history_summary s WHERE NOT EXISTS
		(SELECT 1 FROM history_chunk c WHERE c.tag_id = s.tag_id AND c.start_us = s.start_us)`))
}

// A summary has the first and the last text of each of its parts.
func TestLongTextsHaveNoSummary(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		var list []history.Sample
		for i := range 200 {
			s := sample("a", i, 0)
			s.Value = tags.StringValue(strings.Repeat("x", 40_000) + strconv.Itoa(i))
			list = append(list, s)
		}
		require.NoError(t, db.History().Append(t.Context(), list))
		require.NoError(t, db.History().Compact(t.Context()))
		require.Zero(t, queryInt(t, db, "SELECT COUNT(*) FROM history_summary"))
		all, err := history.Aggregate(t.Context(), db.History(), []string{"a"}, history.Query{Start: storetest.When, End: storetest.When.Add(time.Hour), Period: history.Period{N: 1, Unit: "h"}})
		require.NoError(t, err)
		for i, err := range all[0] {
			require.NoError(t, err)
			require.EqualValues(t, 200, i.Stats.Count)
			require.Equal(t, list[199].Value, i.Value(history.Last))
		}
		require.NoError(t, db.History().CompactDue(t.Context()))
		require.Zero(t, queryInt(t, db, "SELECT COUNT(*) FROM history_summary"), "the read has missed none")
	})
}

// What falls into a damaged chunk makes a chunk beside it: with the summary of the damaged one, samples would count that a range does not have.
func TestASummaryGoesWhenItsChunkIsFoundDamaged(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		h := db.History()
		var list []history.Sample
		for i := range 1000 {
			list = append(list, sample("a", 2*i, 1))
		}
		require.NoError(t, h.Append(t.Context(), list))
		require.NoError(t, h.Compact(t.Context()))
		db.ExecHistory(t, "UPDATE history_chunk SET data = ?", []byte{1, 2, 3, 4, 5})
		require.NoError(t, h.Append(t.Context(), []history.Sample{sample("a", 501, 2)}))
		require.NoError(t, h.Compact(t.Context()))
		all, err := history.Aggregate(t.Context(), h, []string{"a"}, history.Query{Start: storetest.When, End: storetest.When.Add(time.Hour), Period: history.Period{N: 1, Unit: "h"}})
		require.NoError(t, err)
		for _, err = range all[0] {
		}
		require.ErrorIs(t, err, storage.ErrCorrupt)
	})
}

// An engine of an earlier version removes chunks and stores them anew without knowing of summaries.
func TestASummaryGoesWithItsChunk(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{}, historystore.Options{CompactAfter: -1})
		require.NoError(t, db.History().Append(t.Context(), storetest.NewPlant(1).Batch(5000)))
		require.NoError(t, db.History().Compact(t.Context()))
		require.NotZero(t, queryInt(t, db, "SELECT COUNT(*) FROM history_summary"))
		db.ExecHistory(t, "DELETE FROM history_chunk")
		require.Zero(t, queryInt(t, db, "SELECT COUNT(*) FROM history_summary"))
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

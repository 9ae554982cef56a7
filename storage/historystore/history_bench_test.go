package historystore_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/tags/history"
)

// BenchmarkHistoryAppend appends batches of 1,000 samples of 1,000 tags, with all compaction, and
// compares it to plain rows: one transaction for each batch, with a prepared statement on SQLite and
// rows of 100 to a statement on PostgreSQL. The plain table has no index, which no reader could use.
func BenchmarkHistoryAppend(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/store", func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			p := storetest.NewPlant(1000)
			b.ResetTimer()
			for range b.N {
				require.NoError(b, db.History().Append(b.Context(), p.Batch(1000)))
			}
			require.NoError(b, db.History().Compact(b.Context()))
			b.StopTimer()
			stats, err := db.History().Stats(b.Context())
			require.NoError(b, err)
			require.EqualValues(b, b.N*1000, stats.ChunkSamples)
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "samples/s")
			b.ReportMetric(float64(stats.ChunkBytes)/float64(stats.ChunkSamples), "B/sample")
		})
		b.Run(kind+"/rows", func(b *testing.B) {
			_, bare := storetest.Bench(b, kind)
			if kind == "sqlite" {
				var err error
				bare, err = sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "rows.db")+"?_journal_mode=WAL&_synchronous=FULL")
				require.NoError(b, err)
				bare.SetMaxOpenConns(1)
				defer func() { require.NoError(b, bare.Close()) }()
			}
			_, err := bare.Exec(`CREATE TABLE plain (tag BIGINT NOT NULL, at BIGINT NOT NULL, value DOUBLE PRECISION, quality SMALLINT)`)
			require.NoError(b, err)
			p := storetest.NewPlant(1000)
			b.ResetTimer()
			for range b.N {
				require.NoError(b, insertRows(bare, kind, p.Batch(1000)))
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func insertRows(bare *sql.DB, kind string, batch []history.Sample) error {
	tx, err := bare.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	group, query := 1, "INSERT INTO plain (tag, at, value, quality) VALUES (?,?,?,?)"
	if kind == "postgres" {
		group = 100
		var marks []string
		for i := range group {
			marks = append(marks, fmt.Sprintf("($%d,$%d,$%d,$%d)", 4*i+1, 4*i+2, 4*i+3, 4*i+4))
		}
		query = "INSERT INTO plain (tag, at, value, quality) VALUES " + strings.Join(marks, ",")
	}
	stmt, err := tx.Prepare(query)
	if err != nil {
		return err
	}
	defer func() { _ = stmt.Close() }()
	args := make([]any, 0, 4*group)
	for i := range batch {
		s := &batch[i]
		f, _ := s.Value.Float()
		args = append(args, int64(i), s.Time.UnixMicro(), f, int64(s.Quality))
		if len(args) == cap(args) {
			if _, err := stmt.Exec(args...); err != nil {
				return err
			}
			args = args[:0]
		}
	}
	return tx.Commit()
}

// BenchmarkHistoryRange reads a million samples of one tag.
func BenchmarkHistoryRange(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			const n = 1_000_000
			db, _ := storetest.Bench(b, kind)
			p := storetest.NewPlant(1)
			for range n / 10_000 {
				require.NoError(b, db.History().Append(b.Context(), p.Batch(10_000)))
			}
			require.NoError(b, db.History().Compact(b.Context()))
			for b.Loop() {
				count := 0
				for _, err := range db.History().Range(b.Context(), p.Names[0], time.Time{}, p.At.Add(time.Hour)) {
					if err != nil {
						b.Fatal(err)
					}
					count++
				}
				require.Equal(b, n, count)
			}
			stats, err := db.History().Stats(b.Context())
			require.NoError(b, err)
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/million")
			b.ReportMetric(float64(stats.ChunkBytes)/float64(stats.ChunkSamples), "B/sample")
		})
	}
}

package storage_test

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// plant makes samples as equipment gives them: values with two digits that wander, about once a
// second with a jitter of a millisecond.
type plant struct {
	r      *rand.Rand
	names  []string
	values []float64
	at     time.Time
	next   int
}

func newPlant(count int) *plant {
	p := &plant{r: rand.New(rand.NewPCG(1, 2)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range count {
		p.names = append(p.names, fmt.Sprintf("line.tag%d", i))
		p.values = append(p.values, 20)
	}
	return p
}

func (p *plant) batch(n int) []tags.HistorySample {
	out := make([]tags.HistorySample, n)
	for i := range out {
		t := p.next % len(p.names)
		if t == 0 {
			p.at = p.at.Add(time.Second)
		}
		p.next++
		p.values[t] += p.r.NormFloat64() / 10
		out[i] = tags.HistorySample{
			Tag: p.names[t], Time: p.at.Add(time.Duration(p.r.IntN(1000)) * time.Microsecond),
			Value: tags.FloatValue(math.Round(p.values[t]*100) / 100), Quality: tags.Good,
		}
	}
	return out
}

// BenchmarkHistoryAppend appends batches of 1,000 samples of 1,000 tags, with all compaction, and
// compares it to plain rows: one transaction for each batch, with a prepared statement on SQLite and
// rows of 100 to a statement on PostgreSQL. The plain table has no index, which no reader could use.
func BenchmarkHistoryAppend(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind+"/store", func(b *testing.B) {
			db, _ := benchDB(b, kind)
			p := newPlant(1000)
			b.ResetTimer()
			for range b.N {
				require.NoError(b, db.History().Append(b.Context(), p.batch(1000)))
			}
			require.NoError(b, db.History().Compact(b.Context()))
			b.StopTimer()
			stats, err := db.Stats(b.Context())
			require.NoError(b, err)
			require.EqualValues(b, b.N*1000, stats.ChunkSamples)
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "samples/s")
			b.ReportMetric(float64(stats.ChunkBytes)/float64(stats.ChunkSamples), "B/sample")
		})
		b.Run(kind+"/rows", func(b *testing.B) {
			_, bare := benchDB(b, kind)
			if kind == "sqlite" {
				var err error
				bare, err = sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "rows.db")+"?_journal_mode=WAL&_synchronous=NORMAL")
				require.NoError(b, err)
				bare.SetMaxOpenConns(1)
				defer func() { require.NoError(b, bare.Close()) }()
			}
			_, err := bare.Exec(`CREATE TABLE plain (tag BIGINT NOT NULL, at BIGINT NOT NULL, value DOUBLE PRECISION, quality SMALLINT)`)
			require.NoError(b, err)
			p := newPlant(1000)
			b.ResetTimer()
			for range b.N {
				require.NoError(b, insertRows(bare, kind, p.batch(1000)))
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

func insertRows(bare *sql.DB, kind string, batch []tags.HistorySample) error {
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
			db, _ := benchDB(b, kind)
			p := newPlant(1)
			for range n / 10_000 {
				require.NoError(b, db.History().Append(b.Context(), p.batch(10_000)))
			}
			require.NoError(b, db.History().Compact(b.Context()))
			for b.Loop() {
				count := 0
				for _, err := range db.History().Range(b.Context(), p.names[0], time.Time{}, p.at.Add(time.Hour)) {
					if err != nil {
						b.Fatal(err)
					}
					count++
				}
				require.Equal(b, n, count)
			}
			stats, err := db.Stats(b.Context())
			require.NoError(b, err)
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/million")
			b.ReportMetric(float64(stats.ChunkBytes)/float64(stats.ChunkSamples), "B/sample")
		})
	}
}

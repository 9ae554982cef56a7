package bufferstore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/bridge/bridgetest"
	"github.com/otkit/otkit/storage/sqlite"
)

// Bare is what a buffer would do at the least without this package: one row for each sample, 1,000 in a transaction.
func BenchmarkBuffer(b *testing.B) {
	b.Run("Bare", func(b *testing.B) {
		db, err := sqlite.Files{}.OpenFile(filepath.Join(b.TempDir(), "bare.db"), 1000)
		require.NoError(b, err)
		defer func() { require.NoError(b, db.Close()) }()
		_, err = db.ExecContext(b.Context(), `CREATE TABLE samples (number INTEGER PRIMARY KEY, tag INTEGER, time INTEGER, quality INTEGER, value REAL)`)
		require.NoError(b, err)
		entries := bridgetest.Samples(1000)
		number := 0
		b.ResetTimer()
		for b.Loop() {
			tx, err := db.BeginTx(b.Context(), nil)
			require.NoError(b, err)
			insert, err := tx.PrepareContext(b.Context(), `INSERT INTO samples VALUES (?, ?, ?, ?, ?)`)
			require.NoError(b, err)
			for i := range entries {
				e := &entries[i]
				number++
				v, _ := e.Value.Float()
				_, err := insert.ExecContext(b.Context(), number, e.Tag, e.Time.UnixMicro(), int(e.Quality), v)
				require.NoError(b, err)
			}
			require.NoError(b, insert.Close())
			require.NoError(b, tx.Commit())
		}
		b.ReportMetric(float64(number)/b.Elapsed().Seconds(), "samples/s")
	})
	bridgetest.BenchmarkBuffer(b, bridgetest.BufferHarness{Open: func(t testing.TB) bridge.Buffer {
		return open(t, filepath.Join(t.TempDir(), "buffer.db"))
	}})
}

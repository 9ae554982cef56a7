package storage_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for the bare baseline
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // for the bare baseline

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// callers runs work b.N times in all from so many goroutines and reports the rate and the 99th
// percentile of what one caller waits.
func callers(b *testing.B, count int, work func(i int) error) {
	b.Helper()
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		waits []time.Duration
	)
	b.ResetTimer()
	for range count {
		wg.Go(func() {
			var mine []time.Duration
			for {
				i := int(next.Add(1))
				if i > b.N {
					break
				}
				start := time.Now()
				if err := work(i); err != nil {
					b.Error(err)
					return
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			waits = append(waits, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(waits)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
}

func oneWrite(i int) tags.Write {
	return tags.Write{
		ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", i), Tag: "press.valve", Value: tags.FloatValue(float64(i)),
		By: "operator", State: tags.WriteQueued, QueuedAt: time.UnixMicro(int64(i)),
	}
}

const bareInsert = `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm, queued_us, completed_us)
	VALUES (%s)`

// BenchmarkWrite measures single acknowledged writes: through the store, with a transaction for each
// as a caller without the store would do it, and as a bare INSERT without a transaction.
func BenchmarkWrite(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, count := range []int{1, 8, 64} {
			name := fmt.Sprintf("%s/%d", kind, count)
			b.Run(name+"/store", func(b *testing.B) {
				db, _ := benchDB(b, kind)
				log := db.Writes()
				callers(b, count, func(i int) error { return log.Put(context.Background(), []tags.Write{oneWrite(i)}) })
			})
			b.Run(name+"/transaction", func(b *testing.B) {
				_, bare := benchDB(b, kind)
				callers(b, count, func(i int) error {
					tx, err := bare.Begin()
					if err != nil {
						return err
					}
					defer func() { _ = tx.Rollback() }()
					if err := insertBare(tx, kind, i); err != nil {
						return err
					}
					return tx.Commit()
				})
			})
			b.Run(name+"/insert", func(b *testing.B) {
				_, bare := benchDB(b, kind)
				callers(b, count, func(i int) error { return insertBare(bare, kind, i) })
			})
		}
	}
}

func insertBare(on interface {
	Exec(query string, args ...any) (sql.Result, error)
}, kind string, i int) error {
	marks := "?,?,?,?,?,?,?,?,?,?"
	if kind == "postgres" {
		marks = "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10"
	}
	w := oneWrite(i)
	_, err := on.Exec(fmt.Sprintf(bareInsert, marks), w.ID, w.Tag, "Float", []byte(w.Value.String()), w.By, "Queued", "", false, int64(i), nil)
	return err
}

// benchDB opens a new database, and a pool of its own on the same state tables.
func benchDB(b *testing.B, kind string) (*storage.DB, *sql.DB) {
	b.Helper()
	var (
		db   *storage.DB
		bare *sql.DB
		err  error
	)
	if kind == "sqlite" {
		dir := b.TempDir()
		db = openSQLite(b, dir, storage.Options{})
		bare, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "otkit.db")+"?_busy_timeout=5000&_synchronous=FULL&_txlock=immediate")
		bare.SetMaxOpenConns(1)
	} else {
		dsn := pgtest.DSN(b)
		db = openPostgres(b, dsn, storage.Options{})
		bare, err = sql.Open("pgx", dsn)
		bare.SetMaxOpenConns(16)
		bare.SetMaxIdleConns(16)
	}
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, bare.Close()) })
	return db, bare
}

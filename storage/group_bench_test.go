package storage_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // for the bare baseline
	_ "modernc.org/sqlite"             // for the bare baseline

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/tags"
)

const bareInsert = `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm, queued_us, completed_us)
	VALUES (%s)`

// BenchmarkWrite measures single acknowledged writes: through the store, with a transaction for each
// as a caller without the store would do it, and as a bare INSERT without a transaction.
func BenchmarkWrite(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, count := range []int{1, 8, 64} {
			name := fmt.Sprintf("%s/%d", kind, count)
			b.Run(name+"/store", func(b *testing.B) {
				db, _ := storetest.Bench(b, kind)
				log := db.Writes()
				storetest.Callers(b, count, func(i int) error { return log.Put(context.Background(), []tags.Write{storetest.OneWrite(i)}) })
			})
			b.Run(name+"/transaction", func(b *testing.B) {
				_, bare := storetest.Bench(b, kind)
				storetest.Callers(b, count, func(i int) error {
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
				_, bare := storetest.Bench(b, kind)
				storetest.Callers(b, count, func(i int) error { return insertBare(bare, kind, i) })
			})
		}
	}
}

// BenchmarkWriteOutcome measures writes that are stored when they are accepted, and again with their outcome.
func BenchmarkWriteOutcome(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, count := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", kind, count), func(b *testing.B) {
				db, _ := storetest.Bench(b, kind)
				log := db.Writes()
				storetest.Callers(b, count, func(i int) error {
					w := storetest.OneWrite(i)
					if err := log.Put(context.Background(), []tags.Write{w}); err != nil {
						return err
					}
					w.State, w.CompletedAt = tags.WriteDone, w.QueuedAt.Add(time.Second)
					return log.Put(context.Background(), []tags.Write{w})
				})
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
	w := storetest.OneWrite(i)
	_, err := on.Exec(fmt.Sprintf(bareInsert, marks), w.ID, w.Tag, "Float", []byte(w.Value.String()), w.By, "Queued", "", false, int64(i), nil)
	return err
}

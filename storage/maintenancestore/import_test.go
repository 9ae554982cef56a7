package maintenancestore_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/sqlite"
)

func open(t testing.TB, on func(testing.TB) (*storage.DB, error)) *maintenancestore.Store {
	t.Helper()
	db, err := on(t)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	s, err := maintenancestore.New(db)
	require.NoError(t, err)
	return s
}

// manyFailures returns so many failures, a minute apart.
func manyFailures(n int) []predictive.Failure {
	list := make([]predictive.Failure, n)
	for i := range list {
		list[i] = predictive.Failure{ID: fmt.Sprintf("failure-%06d", i), EquipmentID: "pump", Component: "Seal", Source: predictive.SourceCSV,
			Note: "replaced", Start: at.Add(time.Duration(i) * time.Minute)}
	}
	return list
}

// BenchmarkImport adds the failures of the largest file beside writes of others.
func BenchmarkImport(b *testing.B) {
	list := manyFailures(100_000)
	var worst, took time.Duration
	for b.Loop() {
		s := open(b, onSQLite)
		ctx, cancel := context.WithCancel(b.Context())
		var others sync.WaitGroup
		others.Go(func() {
			for n := int64(0); ctx.Err() == nil; n++ {
				began := time.Now()
				if s.SetPosition(context.Background(), n) != nil {
					return
				}
				worst = max(worst, time.Since(began))
			}
		})
		began := time.Now()
		require.NoError(b, s.AddFailures(b.Context(), list))
		took += time.Since(began)
		cancel()
		others.Wait()
	}
	b.ReportMetric(float64(worst.Milliseconds()), "ms-worst-write")
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms-import")
}

var databases = map[string]func(testing.TB) (*storage.DB, error){"sqlite": onSQLite, "postgres": onPostgres}

// Alarms and acknowledgements share the writer of the store, and nobody sees a part of a file.
func TestAnImportLetsOthersWrite(t *testing.T) {
	var s *maintenancestore.Store
	var within atomic.Bool
	between := 0
	other := func(string, time.Duration, error) { // after each transaction
		if s == nil || !within.CompareAndSwap(false, true) {
			return
		}
		defer within.Store(false)
		require.NoError(t, s.SetPosition(t.Context(), int64(between+1)))
		p, err := s.Failures(t.Context(), predictive.RecordQuery{Limit: 1, Count: true})
		require.NoError(t, err)
		if require.Contains(t, []int{0, 20_000}, p.Total, "all or none"); p.Total == 0 {
			between++
		}
	}
	s = open(t, func(t testing.TB) (*storage.DB, error) {
		return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Options: storage.Options{OnQuery: other}}, maintenancestore.Schema())
	})
	require.NoError(t, s.AddFailures(t.Context(), manyFailures(20_000)))
	require.Greater(t, between, 20)
}

func TestAnImportThatFailsLeavesNothing(t *testing.T) {
	for name, on := range databases {
		t.Run(name, func(t *testing.T) {
			s := open(t, on)
			list := manyFailures(3000)
			require.NoError(t, s.AddFailures(t.Context(), list[2500:2501]))
			require.ErrorIs(t, s.AddFailures(t.Context(), list), predictive.ErrRecordExists)
			p, err := s.Failures(t.Context(), predictive.RecordQuery{})
			require.NoError(t, err)
			require.Len(t, p.Items, 1)
			require.NoError(t, s.AddFailures(t.Context(), list[:2500]))
		})
	}
}

// unfinish brings the rows of imports back, as they were before the last transactions.
func unfinish(t *testing.T, db *storage.DB, at time.Time) {
	t.Helper()
	set, err := db.SetOf(maintenancestore.Schema())
	require.NoError(t, err)
	require.NoError(t, set.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO maintenance_imports (id, touched_us) SELECT DISTINCT import_id, CAST(? AS BIGINT) FROM maintenance_failures "+
			"WHERE import_id <> 0 ON CONFLICT (id) DO UPDATE SET touched_us = excluded.touched_us", at.UnixMicro())
		return err
	}))
}

// A process that is killed in an import leaves records that do not count and are removed.
func TestAnImportOfAKilledProcess(t *testing.T) {
	for name, on := range databases {
		t.Run(name, func(t *testing.T) {
			db, err := on(t)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close(context.Background())) }()
			s, err := maintenancestore.New(db)
			require.NoError(t, err)
			list := manyFailures(700)
			require.NoError(t, s.AddFailures(t.Context(), list))
			unfinish(t, db, time.Now())
			p, err := s.Failures(t.Context(), predictive.RecordQuery{Count: true})
			require.NoError(t, err)
			require.Zero(t, p.Total)
			require.ErrorIs(t, s.DeleteFailure(t.Context(), list[0].ID), predictive.ErrRecordNotFound)
			require.ErrorIs(t, s.AddFailures(t.Context(), list[:1]), maintenancestore.ErrImporting, "it may be at work still")
			require.ErrorIs(t, s.AddFailures(t.Context(), list), maintenancestore.ErrImporting)

			unfinish(t, db, time.Now().Add(-time.Hour))
			require.NoError(t, s.AddFailures(t.Context(), list[:1]))
			p, err = s.Failures(t.Context(), predictive.RecordQuery{Count: true})
			require.NoError(t, err)
			require.Equal(t, list[:1], p.Items)
			require.NoError(t, s.AddFailures(t.Context(), list[1:]))

			unfinish(t, db, time.Now().Add(time.Hour)) // the clock was set back
			set, err := db.SetOf(maintenancestore.Schema())
			require.NoError(t, err)
			upgrade := maintenancestore.Schema().Upgrade
			require.NoError(t, upgrade(t.Context(), set, set.Update))
			require.NoError(t, set.View(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				var n int
				err := tx.Row(ctx, "SELECT COUNT(*) FROM maintenance_failures", nil, &n)
				require.Equal(t, 1, n, "what is in no unfinished import stays")
				return err
			}))
		})
	}
}

// Another process gives an import up while its own stands still.
func TestAnImportThatWasGivenUp(t *testing.T) {
	db, err := onSQLite(t)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	s, err := maintenancestore.New(db)
	require.NoError(t, err)
	set, err := db.SetOf(maintenancestore.Schema())
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- s.AddFailures(context.Background(), manyFailures(20_000)) }()
	for n := int64(0); n == 0; {
		require.NoError(t, set.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) (err error) {
			n, err = tx.Exec(ctx, "UPDATE maintenance_imports SET touched_us = 0")
			return err
		}))
	}
	require.ErrorContains(t, <-done, "the import took too long")
	p, err := s.Failures(t.Context(), predictive.RecordQuery{Count: true})
	require.NoError(t, err)
	require.Zero(t, p.Total)
	require.NoError(t, s.AddFailures(t.Context(), manyFailures(2000)))
}

package maintenancestore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// A process stands still after each of the transactions of an import, for so long that another one, which imports the same, gives it up. As far as
// the other one is concerned, it was killed.
func TestAnImportThatStandsStill(t *testing.T) {
	list := manyFailures(1100)
	for name, on := range map[string]func(*testing.T, storage.Options) (*storage.DB, error){
		"sqlite": func(t *testing.T, o storage.Options) (*storage.DB, error) {
			return sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Options: o}, maintenancestore.Schema())
		},
		"postgres": func(t *testing.T, o storage.Options) (*storage.DB, error) {
			return postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t), Options: o}, maintenancestore.Schema())
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ahead, left atomic.Int64 // of the clock, and transactions until the first process stands still
			stands, goesOn := make(chan struct{}), make(chan struct{})
			db, err := on(t, storage.Options{
				Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
				OnQuery: func(string, time.Duration, error) {
					if left.Add(-1) == 0 {
						stands <- struct{}{}
						<-goesOn
					}
				},
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close(context.Background())) }()
			s, err := maintenancestore.New(db)
			require.NoError(t, err)
			set, err := db.SetOf(maintenancestore.Schema())
			require.NoError(t, err)
			for transactions := int64(1); ; transactions++ {
				done := make(chan error, 1)
				left.Store(transactions)
				go func() { done <- s.AddFailures(context.Background(), list) }()
				<-stands
				p, err := s.Failures(t.Context(), predictive.RecordQuery{Count: true, Limit: 1})
				require.NoError(t, err)
				if whole := p.Total > 0; whole {
					require.Equal(t, len(list), p.Total)
					require.ErrorIs(t, s.AddFailures(t.Context(), list), predictive.ErrRecordExists)
					close(goesOn)
					require.NoError(t, <-done)
					require.Greater(t, transactions, int64(4))
					return
				}
				ahead.Add(int64(2 * time.Minute))
				require.NoError(t, s.AddFailures(t.Context(), list), "after %d transactions", transactions)
				goesOn <- struct{}{}
				require.Error(t, <-done)
				p, err = s.Failures(t.Context(), predictive.RecordQuery{})
				require.NoError(t, err)
				require.Equal(t, list, p.Items)
				require.NoError(t, set.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
					_, err := tx.Exec(ctx, "DELETE FROM maintenance_failures")
					return err
				}))
			}
		})
	}
}

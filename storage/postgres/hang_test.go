package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/postgres"
)

// An engine that hangs within a transaction does not hold up the others. When it goes on, its transaction is lost, and tried again unless the connection is gone.
func TestATransactionThatHangsIsEnded(t *testing.T) {
	dsn := pgtest.DSN(t)
	open := func(dsn string) *storage.Set {
		db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn}, alarmstore.Schema())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
		set, err := db.SetOf(alarmstore.Schema())
		require.NoError(t, err)
		return set
	}
	join := "?"
	if strings.Contains(dsn, "?") {
		join = "&"
	}
	hanging, other := open(dsn+join+"idle_in_transaction_session_timeout=300"), open(dsn)
	locked, goesOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	tries := 0
	go func() {
		done <- hanging.Update(context.Background(), "test", func(ctx context.Context, tx *storage.Tx) error {
			if err := tx.Lock(ctx, "alarm_conditions"); err != nil {
				return err
			}
			if tries++; tries == 1 {
				close(locked)
				<-goesOn
			}
			return nil
		})
	}()
	<-locked
	require.NoError(t, other.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error { return tx.Lock(ctx, "alarm_conditions") }))
	close(goesOn)
	if err := <-done; err != nil {
		require.ErrorIs(t, err, storage.ErrAway)
	} else {
		require.Equal(t, 2, tries)
	}

	// What takes its time, such as a restore, is not ended.
	require.NoError(t, hanging.Exclusive(t.Context(), "test", func(update storage.Updater) error {
		tries = 0
		return update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			tries++
			time.Sleep(600 * time.Millisecond)
			return tx.Lock(ctx, "alarm_conditions")
		})
	}))
	require.Equal(t, 1, tries)
}

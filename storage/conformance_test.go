package storage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/accounts/accountstest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestAccounts(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		accountstest.TestStore(t, func(t testing.TB) accountstest.Store {
			db := fresh(t)
			return struct {
				accounts.Store
				accounts.SessionStore
			}{db.Accounts(), db.Sessions()}
		})
	})
}

func TestWriteLog(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		tagstest.TestWriteLog(t, func(t testing.TB) tags.WriteLog { return fresh(t).Writes() })
	})
}

func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		tagstest.TestHistoryStore(t, func(t testing.TB) tags.HistoryStore { return fresh(t).History() })
	})
}

// eager compacts after each append, so that the suite meets chunks where it would meet batches.
type eager struct{ *storage.History }

func (e eager) Append(ctx context.Context, samples []tags.HistorySample) error {
	if err := e.History.Append(ctx, samples); err != nil {
		return err
	}
	return e.Compact(ctx)
}

func TestHistoryCompactedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		tagstest.TestHistoryStore(t, func(t testing.TB) tags.HistoryStore { return eager{fresh(t).History()} })
	})
}

func TestPingAndStats(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		db := open(t, storage.Options{})
		require.NoError(t, db.Ping(t.Context()))
		stats, err := db.Stats(t.Context())
		require.NoError(t, err)
		require.Positive(t, stats.StateBytes)
		require.Positive(t, stats.HistoryBytes)
	})
}

package historystore_test

import (
	"context"
	"testing"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestHistory(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		tagstest.TestHistoryStore(t, func(t testing.TB) history.Store { return fresh(t).History() })
	})
}

// eager compacts after each append, so that the suite meets chunks where it would meet batches.
type eager struct{ *historystore.Store }

func (e eager) Append(ctx context.Context, samples []history.Sample) error {
	if err := e.Store.Append(ctx, samples); err != nil {
		return err
	}
	return e.Compact(ctx)
}

func TestHistoryCompactedAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		tagstest.TestHistoryStore(t, func(t testing.TB) history.Store { return eager{fresh(t).History()} })
	})
}

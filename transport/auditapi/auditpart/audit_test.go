package auditpart

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/health"
	"github.com/otkit/otkit/transport/metrics/metricstest"
)

// store is a store that can fail.
type store struct {
	*audit.Memory
	full atomic.Bool
}

func (s *store) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if s.full.Load() {
		return 0, errors.New("disk full")
	}
	return s.Memory.Append(ctx, entries)
}

func TestHealthAndMetricsFollowTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{Memory: audit.NewMemory()}
		a, err := New(Options{Store: s})
		require.NoError(t, err)
		part := a.Part()
		look := func() (health.Result, map[string]string) {
			synctest.Wait()
			return part.Checks[0].Run(t.Context()), metricstest.Scrape(t, part.Metrics...)
		}
		act, done := audit.Act{Actor: "anna", Action: "writeTag"}, audit.Result{Outcome: audit.Succeeded}

		a.Log().Record(act, done)
		state, got := look()
		require.Equal(t, health.Healthy, state.Status)
		require.Equal(t, map[string]string{"otkit_audit_entries_stored_total": "1", "otkit_audit_transactions_failed_total": "0",
			"otkit_audit_entries_lost_total": "0", "otkit_audit_entries_pending": "0"}, got)

		s.full.Store(true)
		a.Log().Record(act, done)
		state, got = look()
		require.Equal(t, health.Degraded, state.Status)
		require.Contains(t, state.Description, "changes are refused")
		require.Equal(t, "1", got["otkit_audit_entries_pending"])

		s.full.Store(false)
		time.Sleep(time.Minute)
		state, got = look()
		require.Equal(t, health.Healthy, state.Status)
		require.Equal(t, "2", got["otkit_audit_entries_stored_total"])
		require.Equal(t, "1", got["otkit_audit_transactions_failed_total"])

		require.NoError(t, part.Close(t.Context()))
		a.Log().Record(act, done)
		state, got = look()
		require.Contains(t, state.Description, "lost since the start: 1")
		require.Equal(t, "1", got["otkit_audit_entries_lost_total"])
	})
}

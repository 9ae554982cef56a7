package demo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/demo"
)

func TestTheRulesAreValid(t *testing.T) {
	for _, r := range demo.Rules() {
		require.NoError(t, r.Validate(), r.ID)
	}
}

func TestAMonthOfAlarms(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	d, _, err := demo.NewDriver(clock)
	require.NoError(t, err)
	store := alarms.NewMemory()
	last, err := demo.FillAlarms(t.Context(), d, store, now)
	require.NoError(t, err)
	service, err := alarms.New(t.Context(), store, alarms.Options{Now: clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close(context.Background())) })
	require.Greater(t, last, int64(50))

	page, err := service.History(t.Context(), now.Add(-demo.HistoryAge), now, alarms.ListQuery{Page: 1, PageSize: 500})
	require.NoError(t, err)
	require.Greater(t, page.Total, 30)
	open := 0
	for _, o := range page.Occurrences {
		require.False(t, o.Active)
		require.True(t, o.RaisedAt.Before(o.ClearedAt))
		if !o.Acknowledged() {
			require.Empty(t, o.AcknowledgedBy)
			open++
			continue
		}
		require.Equal(t, "operator", o.AcknowledgedBy)
		require.WithinRange(t, o.AcknowledgedAt, o.RaisedAt.Add(time.Minute), o.RaisedAt.Add(time.Hour))
	}
	require.Equal(t, 3, open, "the newest are still to be looked at")
	for _, o := range page.Occurrences[:3] {
		require.False(t, o.Acknowledged())
	}
	active, err := service.Active(t.Context())
	require.NoError(t, err)
	require.Empty(t, active)

	again, err := demo.FillAlarms(t.Context(), d, store, now)
	require.NoError(t, err)
	require.Equal(t, last, again, "it is made once")
	_, err = service.Raise(t.Context(), alarms.Alarm{Key: "boiler", Source: "boiler", Message: "not of the plant", Severity: alarms.Error})
	require.NoError(t, err)
	again, err = demo.FillAlarms(t.Context(), d, store, now)
	require.NoError(t, err)
	require.Equal(t, last, again)
}

// slow is a store with which the past takes minutes, and a service looks after shelving meanwhile.
type slow struct{ *alarms.Memory }

func (s slow) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	time.Sleep(time.Second)
	return s.Memory.Write(ctx, refs, change)
}

// The race detector finds what the service and the past would share.
func TestAMonthOfAlarmsInASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, err := demo.NewDriver(nil)
		require.NoError(t, err)
		last, err := demo.FillAlarms(t.Context(), d, slow{alarms.NewMemory()}, time.Now())
		require.NoError(t, err)
		require.Positive(t, last)
	})
}

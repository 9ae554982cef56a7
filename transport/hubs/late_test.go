package hubs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// TestDashboardOfALateAlarm sends an alarm that is over once, with its end.
func TestDashboardOfALateAlarm(t *testing.T) {
	onDesk(t, func(t *testing.T, d *desk) {
		at := time.Now().Add(-time.Hour)
		past := alarms.Signal{Ended: at.Add(time.Minute), Raise: &alarms.Alarm{
			Key: "pump", ID: "019b0000-0000-7000-8000-000000000001", Source: "pump", Message: "pump is hot", Severity: alarms.Error, At: at,
		}}
		for range 2 {
			_, err := d.alarms.Apply(t.Context(), []alarms.Signal{past})
			require.NoError(t, err)
		}
		require.Equal(t, []string{"pump is hot", "Resolved: pump is hot", "OnAlarmChanged pump"}, d.hub.take(""))
		d.silence("*", time.Hour)
		past.Raise.ID = "019b0000-0000-7000-8000-000000000002"
		_, err := d.alarms.Apply(t.Context(), []alarms.Signal{past})
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		require.Empty(t, d.hub.take("alarms"), "it was over under its silence")
	})
}

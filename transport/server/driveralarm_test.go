package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/engine"
)

func TestADriverThatIsAwayHasAnAlarm(t *testing.T) {
	t.Parallel()
	warning := alarms.Warning
	p := start(t, func(o *engine.Options) {
		o.Alarms.Drivers = driveralarms.Options{Delay: time.Millisecond, Severity: &warning}
	})
	require.Eventually(t, func() bool { // those that are online may have been seen while they connected
		list := p.alarmList("")
		return len(list) == 1 && list[0]["source"] == "away"
	}, time.Minute, 10*time.Millisecond)
	found := p.alarmList("")[0]
	require.Equal(t, "Warning", found["severity"])
	require.Regexp(t, `^Driver away is offline: the device cannot be reached \((Backoff|Connecting)\); last error: no answer$`, found["message"])
	list, err := p.Alarms().Active(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Equipment", list[0].SourceType)
}

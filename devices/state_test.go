package devices_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestStates(t *testing.T) {
	t.Parallel()
	for _, from := range devices.States() {
		require.True(t, from.Valid())
		for event, want := range map[devices.Event]devices.State{
			devices.Disconnected: devices.Offline, devices.ReportsIdle: devices.Idle, devices.ReportsWorking: devices.Working,
			devices.ReportsError: devices.Error, devices.ReportsManual: devices.Maintenance, devices.ReportsUnknown: devices.Unknown,
		} {
			to, ok := from.Next(event, false)
			require.True(t, ok, "a report is possible in every state")
			switch {
			case from == devices.Decommissioned || from == devices.Provisioned && event == devices.Disconnected:
				require.Equal(t, from, to)
			default:
				require.Equal(t, want, to, "%s in %s", event, from)
			}
		}
		to, _ := from.Next(devices.Connected, false)
		if from == devices.Offline || from == devices.Provisioned {
			require.Equal(t, devices.Online, to)
		} else {
			require.Equal(t, from, to)
		}
		_, ok := from.Next(devices.Provision, false)
		require.Equal(t, from == devices.Decommissioned, ok)
		_, ok = from.Next(devices.MaintenanceEnds, true)
		require.Equal(t, from == devices.Maintenance, ok)
		_, ok = from.Next(devices.Decommission, false)
		require.Equal(t, from != devices.Working && from != devices.Decommissioned, ok)
		_, ok = from.Next("dance", false)
		require.False(t, ok)
	}
	for _, event := range []devices.Event{devices.Connected, devices.Disconnected, devices.ReportsIdle, devices.ReportsError} {
		to, ok := devices.Maintenance.Next(event, true)
		require.True(t, ok)
		require.Equal(t, devices.Maintenance, to)
	}
	require.False(t, devices.State("Dancing").Valid())
}

package devicesapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/devicesapi"
)

func TestTheAuditLogTellsWhatBecameOfACommand(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   audit.Result // empty: as the status tells it
	}{
		{200, `{"success":true,"state":"Succeeded","message":null}`, audit.Result{}},
		{200, `{"success":false,"state":"Running","message":"the command has not ended"}`, audit.Result{}},
		{200, `{"success":false,"state":"Failed","message":"the device could not be stopped"}`, audit.Result{Outcome: audit.Failed, Code: "COMMAND_FAILED", Detail: "the device could not be stopped"}},
		{200, `{"success":false,"state":"Canceled","message":"emergency stop"}`, audit.Result{Outcome: audit.Failed, Code: "COMMAND_CANCELED", Detail: "emergency stop"}},
		{200, `{"success":false,"state":"TimedOut","message":null}`, audit.Result{Outcome: audit.Unknown, Code: "COMMAND_TIMED_OUT"}},
		{200, `{"success":false,"state":"Lost","message":"no answer"}`, audit.Result{Outcome: audit.Unknown, Code: "COMMAND_LOST", Detail: "no answer"}},
		{200, `{"success":`, audit.Result{}}, // the client left
		{403, `{"message":"Safety violation","reason":"geofence: far"}`, audit.Result{Outcome: audit.Refused, Code: "SAFETY_VIOLATION", Detail: "geofence: far"}},
		{403, `{"type":"about:blank","title":"Forbidden","status":403,"code":"FORBIDDEN"}`, audit.Result{}},
		{409, `{"code":"COMMAND_ID_REUSED","reason":"x"}`, audit.Result{}},
	} {
		got, told := devicesapi.Audited()["submitDeviceCommand"].Result(c.status, []byte(c.body))
		require.Equal(t, c.want.Outcome != "", told, c.body)
		if told {
			require.Equal(t, c.want, got, c.body)
		}
	}
}

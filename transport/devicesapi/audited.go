package devicesapi

import (
	"encoding/json"
	"net/http"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
)

// Audited describes the operations on devices to the audit log: their object is the device.
func Audited() map[string]audited.Description {
	created := func(c audited.Call) []string {
		var body struct{ DeviceID string }
		c.Decode(&body)
		return []string{body.DeviceID}
	}
	return map[string]audited.Description{
		"createDevice": {Objects: created},
		"submitDeviceCommand": {Detail: true, Result: commandResult, Optional: func(c audited.Call) bool {
			var command gen.DeviceCommand
			return c.Decode(&command) && command.CommandType == devices.EmergencyStop
		}},
	}
}

// commandResult tells what has become of a command from its answer. One that waits or runs has been given, which succeeded.
func commandResult(status int, body []byte) (audit.Result, bool) {
	switch status {
	case http.StatusForbidden:
		var refused violation
		if json.Unmarshal(body, &refused) != nil || refused.Reason == "" { // a problem: the caller may not give it
			return audit.Result{}, false
		}
		return audit.Result{Outcome: audit.Refused, Code: devices.ErrRefused.Code, Detail: refused.Reason}, true
	case http.StatusOK:
		var given gen.CommandResult
		if json.Unmarshal(body, &given) != nil {
			return audit.Result{}, false
		}
		failed := map[gen.CommandPhase]audit.Result{
			gen.CommandFailed:   {Outcome: audit.Failed, Code: "COMMAND_FAILED"},
			gen.CommandCanceled: {Outcome: audit.Failed, Code: "COMMAND_CANCELED"},
			gen.CommandTimedOut: {Outcome: audit.Unknown, Code: "COMMAND_TIMED_OUT"},
			gen.CommandLost:     {Outcome: audit.Unknown, Code: "COMMAND_LOST"},
		}
		result, ok := failed[given.State]
		if given.Message != nil {
			result.Detail = *given.Message
		}
		return result, ok
	}
	return audit.Result{}, false
}

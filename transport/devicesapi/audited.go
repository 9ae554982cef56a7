package devicesapi

import (
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
		"submitDeviceCommand": {Detail: true, Optional: func(c audited.Call) bool {
			var command gen.DeviceCommand
			return c.Decode(&command) && command.CommandType == devices.EmergencyStop
		}},
	}
}

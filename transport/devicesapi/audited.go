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
	device := func(c audited.Call) []string { return []string{c.Param("id")} }
	stops := func(c audited.Call) bool {
		var body gen.DeviceCommand // the handler's
		return c.Decode(&body) && body.CommandType == devices.EmergencyStop
	}
	return map[string]audited.Description{
		"createDevice":        {Objects: created},
		"submitDeviceCommand": {Objects: device, Detail: true, Optional: stops},
		"cancelDeviceCommand": {Objects: func(c audited.Call) []string { return []string{c.Param("id"), c.Param("commandId")} }},
	}
}

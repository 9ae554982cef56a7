package devicesapi

import (
	"github.com/otkit/otkit/transport/audited"
)

// Audited describes the operations on devices to the audit log: their object is the device.
func Audited() map[string]audited.Description {
	created := func(c audited.Call) []string {
		var body struct{ DeviceID string }
		c.Decode(&body)
		return []string{body.DeviceID}
	}
	device := func(c audited.Call) []string { return []string{c.Param("id")} }
	return map[string]audited.Description{
		"createDevice":        {Objects: created},
		"submitDeviceCommand": {Objects: device, Detail: true},
		"cancelDeviceCommand": {Objects: func(c audited.Call) []string { return []string{c.Param("id"), c.Param("commandId")} }},
	}
}

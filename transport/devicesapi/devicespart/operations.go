package devicespart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part. Who may command a device may not reset an emergency stop: that needs the role Admin.
func Operations() []auth.Operation {
	const (
		list    = "/api/v1/devices"
		one     = list + "/{id}"
		command = one + "/commands/{commandId}"
	)
	return []auth.Operation{
		{ID: "listDevices", Method: http.MethodGet, Path: list, Access: auth.Viewer, Gzip: true},
		{ID: "createDevice", Method: http.MethodPost, Path: list, Access: auth.Admin},
		{ID: "listDeviceZones", Method: http.MethodGet, Path: "/api/v1/device-zones", Access: auth.Viewer, Gzip: true},
		{ID: "streamDevices", Method: http.MethodGet, Path: list + "/stream", Access: auth.Viewer, QueryToken: true, Stream: true, Gzip: true},
		{ID: "getDevice", Method: http.MethodGet, Path: one, Access: auth.Viewer},
		{ID: "beginMaintenance", Method: http.MethodPost, Path: one + "/maintenance", Access: auth.Operator},
		{ID: "endMaintenance", Method: http.MethodDelete, Path: one + "/maintenance", Access: auth.Operator},
		{ID: "decommissionDevice", Method: http.MethodPost, Path: one + "/decommission", Access: auth.Admin},
		{ID: "provisionDevice", Method: http.MethodPost, Path: one + "/provision", Access: auth.Admin},
		{ID: "getDeviceTelemetry", Method: http.MethodGet, Path: one + "/telemetry", Access: auth.Viewer, Gzip: true},
		{ID: "reportDeviceTelemetry", Method: http.MethodPost, Path: one + "/telemetry", Access: auth.Operator,
			Unaudited: "what devices report, many times a second"},
		{ID: "listDeviceCommands", Method: http.MethodGet, Path: one + "/commands", Access: auth.Viewer, Gzip: true},
		{ID: "submitDeviceCommand", Method: http.MethodPost, Path: one + "/commands", Access: auth.Operator, OwnRate: true},
		{ID: "getDeviceCommand", Method: http.MethodGet, Path: command, Access: auth.Viewer},
		{ID: "cancelDeviceCommand", Method: http.MethodPost, Path: command + "/cancel", Access: auth.Operator},
	}
}

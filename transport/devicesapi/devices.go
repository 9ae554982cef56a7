package devicesapi

import (
	"context"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// ListDevices implements GET /api/v1/devices.
func (h *handlers) ListDevices(context.Context, gen.ListDevicesRequestObject) (gen.ListDevicesResponseObject, error) {
	all := h.service.List()
	answer := make(gen.ListDevices200JSONResponse, len(all))
	for i, d := range all {
		answer[i] = deviceOf(d)
	}
	return answer, nil
}

// CreateDevice implements POST /api/v1/devices.
func (h *handlers) CreateDevice(ctx context.Context, r gen.CreateDeviceRequestObject) (gen.CreateDeviceResponseObject, error) {
	if err := missing("deviceId", r.Body.DeviceID, "name", r.Body.Name); err != nil {
		return nil, err
	}
	if r.Body.DeviceID == ReservedID {
		return nil, devices.ErrInvalid.Invalid(fault.Field{Field: "deviceId", Message: `must not be "` + ReservedID + `"`})
	}
	d, err := h.service.Create(ctx, r.Body.DeviceID, r.Body.Name, r.Body.Description)
	if err != nil {
		return nil, err
	}
	return gen.CreateDevice201JSONResponse{Body: deviceOf(d),
		Headers: gen.CreateDevice201ResponseHeaders{Location: "/api/v1/devices/" + d.ID}}, nil
}

// GetDevice implements GET /api/v1/devices/{id}.
func (h *handlers) GetDevice(_ context.Context, r gen.GetDeviceRequestObject) (gen.GetDeviceResponseObject, error) {
	d, err := h.service.Get(r.ID)
	if err != nil {
		return nil, err
	}
	return gen.GetDevice200JSONResponse(deviceOf(d)), nil
}

// BeginMaintenance implements POST /api/v1/devices/{id}/maintenance.
func (h *handlers) BeginMaintenance(ctx context.Context, r gen.BeginMaintenanceRequestObject) (gen.BeginMaintenanceResponseObject, error) {
	d, err := h.service.Change(ctx, r.ID, devices.MaintenanceBegins)
	if err != nil {
		return nil, err
	}
	return gen.BeginMaintenance200JSONResponse(deviceOf(d)), nil
}

// EndMaintenance implements DELETE /api/v1/devices/{id}/maintenance.
func (h *handlers) EndMaintenance(ctx context.Context, r gen.EndMaintenanceRequestObject) (gen.EndMaintenanceResponseObject, error) {
	d, err := h.service.Change(ctx, r.ID, devices.MaintenanceEnds)
	if err != nil {
		return nil, err
	}
	return gen.EndMaintenance200JSONResponse(deviceOf(d)), nil
}

// DecommissionDevice implements POST /api/v1/devices/{id}/decommission.
func (h *handlers) DecommissionDevice(ctx context.Context, r gen.DecommissionDeviceRequestObject) (gen.DecommissionDeviceResponseObject, error) {
	d, err := h.service.Change(ctx, r.ID, devices.Decommission)
	if err != nil {
		return nil, err
	}
	return gen.DecommissionDevice200JSONResponse(deviceOf(d)), nil
}

// ProvisionDevice implements POST /api/v1/devices/{id}/provision.
func (h *handlers) ProvisionDevice(ctx context.Context, r gen.ProvisionDeviceRequestObject) (gen.ProvisionDeviceResponseObject, error) {
	d, err := h.service.Change(ctx, r.ID, devices.Provision)
	if err != nil {
		return nil, err
	}
	return gen.ProvisionDevice200JSONResponse(deviceOf(d)), nil
}

// missing returns an error with those members of pairs of name and value that are empty.
func missing(pairs ...string) error {
	var fields []fault.Field
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			fields = append(fields, fault.Field{Field: pairs[i], Message: restapi.IsRequired})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return devices.ErrInvalid.Invalid(fields...)
}

func deviceOf(d devices.Device) gen.Device {
	return gen.Device{DeviceID: d.ID, TenantID: textOrNull(d.TenantID), Name: d.Name, Description: d.Description,
		CurrentState: gen.DeviceState(d.State), LastSeen: d.LastSeen.UTC(), EmergencyStopLatched: d.StopLatched, Unheard: d.Unheard}
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

package devicesapi

import (
	"context"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
)

var errNoTelemetry = fault.New(fault.NotFound, "NO_TELEMETRY", "the device has not reported yet")

// GetDeviceTelemetry implements GET /api/v1/devices/{id}/telemetry.
func (h *handlers) GetDeviceTelemetry(_ context.Context, r gen.GetDeviceTelemetryRequestObject) (gen.GetDeviceTelemetryResponseObject, error) {
	d, err := h.service.Get(r.ID)
	switch {
	case err != nil:
		return nil, err
	case d.Telemetry == nil:
		return nil, errNoTelemetry.On("deviceId", r.ID)
	}
	return gen.GetDeviceTelemetry200JSONResponse(*telemetryOf(d.Telemetry, h.now())), nil
}

// ReportDeviceTelemetry implements POST /api/v1/devices/{id}/telemetry.
func (h *handlers) ReportDeviceTelemetry(ctx context.Context, r gen.ReportDeviceTelemetryRequestObject) (gen.ReportDeviceTelemetryResponseObject, error) {
	if err := h.mayReport(r.ID); err != nil {
		return nil, err
	}
	b := r.Body
	t := devices.Telemetry{Time: b.Timestamp, Battery: b.Battery, Charging: b.Charging, State: devices.State(b.State),
		Stop: devices.Stop(b.EmergencyStop), Faults: b.Faults, Loads: b.Loads}
	if b.EmergencyStop == gen.NoStop {
		t.Stop = devices.NoStop
	}
	if p := b.Position; p != nil {
		if p.X == nil || p.Y == nil {
			return nil, devices.ErrInvalid.Invalid(fault.Field{Field: "position", Message: "must have x and y"})
		}
		t.Pose = &devices.Pose{Map: p.Map, X: *p.X, Y: *p.Y, Theta: p.Theta}
	}
	if v := b.Velocity; v != nil {
		t.Velocity = &devices.Velocity{X: v.X, Y: v.Y, Omega: v.Omega}
	}
	if err := h.service.Relay(ctx, r.ID, t); err != nil {
		return nil, err
	}
	return gen.ReportDeviceTelemetry204Response{}, nil
}

// telemetryOf returns nil for nil.
func telemetryOf(t *devices.Telemetry, now time.Time) *gen.DeviceTelemetry {
	if t == nil {
		return nil
	}
	answer := &gen.DeviceTelemetry{Timestamp: t.Time.UTC(), ReceivedAt: t.Received.UTC(), AgeSeconds: max(0, now.Sub(t.Time).Seconds()),
		Battery: t.Battery, Charging: t.Charging, State: gen.DeviceState(t.State), EmergencyStop: gen.DeviceStop(t.Stop),
		Faults: notNull(t.Faults), Loads: notNull(t.Loads)}
	if t.Stop == devices.NoStop {
		answer.EmergencyStop = gen.NoStop
	}
	if p := t.Pose; p != nil {
		answer.Position = &gen.DevicePosition{Map: p.Map, X: &p.X, Y: &p.Y, Theta: p.Theta}
	}
	if v := t.Velocity; v != nil {
		answer.Velocity = &gen.DeviceVelocity{X: v.X, Y: v.Y, Omega: v.Omega}
	}
	return answer
}

func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

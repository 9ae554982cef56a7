package devicesapi

import (
	"context"

	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
)

// ListDeviceZones implements GET /api/v1/device-zones.
func (h *handlers) ListDeviceZones(_ context.Context, r gen.ListDeviceZonesRequestObject) (gen.ListDeviceZonesResponseObject, error) {
	zones := make([]gen.DeviceZone, 0, len(h.zones)) // an empty list is no null
	for i := range h.zones {
		if z := &h.zones[i]; r.Params.Map == "" || r.Params.Map == z.Map {
			zones = append(zones, zoneOf(z))
		}
	}
	return gen.ListDeviceZones200JSONResponse{Zones: zones}, nil
}

func zoneOf(z *safety.Zone) gen.DeviceZone {
	rings := make([][][]float64, len(z.Rings))
	for i, points := range z.Rings {
		rings[i] = make([][]float64, len(points))
		for k := range points {
			rings[i][k] = points[k][:]
		}
	}
	return gen.DeviceZone{Name: z.Name, Map: z.Map, Kind: gen.DeviceZoneKind(z.Kind), MaxSpeed: z.MaxSpeed, Rings: rings}
}

package safety_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
)

func Example() {
	zones, err := safety.ReadGeoJSON(strings.NewReader(`{"type": "FeatureCollection", "features": [
		{"type": "Feature", "properties": {"name": "hall 1", "map": "ground floor", "kind": "allowed"},
		 "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [40, 0], [40, 20], [0, 20], [0, 0]]]}},
		{"type": "Feature", "properties": {"name": "press", "map": "ground floor", "kind": "keepOut"},
		 "geometry": {"type": "Polygon", "coordinates": [[[18, 8], [22, 8], [22, 12], [18, 12], [18, 8]]]}}]}`))
	if err != nil {
		panic(err)
	}
	policies, err := safety.New(safety.Options{Zones: zones})
	if err != nil {
		panic(err)
	}

	now, charge := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), 75.0
	agv := devices.Device{ID: "agv-1", State: devices.Idle, Telemetry: &devices.Telemetry{Time: now, Battery: &charge,
		Pose: &devices.Pose{Map: "ground floor", X: 5, Y: 10}}}
	for _, x := range []float64{10, 35, 45} {
		d := policies.Check(devices.Situation{Now: now, Device: agv, Command: devices.Command{Type: devices.MoveTo}, Move: &devices.Move{X: x, Y: 10}})
		fmt.Printf("%t %q\n", d.Allowed, d.Reason)
	}
	// Output:
	// true ""
	// false "geofence: the way to (35.00, 10.00) touches keep-out zone \"press\", the device needs 0.50 m around it"
	// false "geofence: the target (45.00, 10.00) is outside of the allowed zones of map \"ground floor\""
}

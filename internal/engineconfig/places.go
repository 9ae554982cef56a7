package engineconfig

import (
	"fmt"
	"strings"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/internal/settings"
)

// checkPlaces names simulated robots that could never leave the place where they begin, and chargers that nothing could reach.
// Settings without any zone are left alone: they refuse every movement, as they say.
func (d Devices) checkPlaces(p *settings.Problems, zones []safety.Zone, policies devices.Safety) {
	if len(zones) == 0 {
		return
	}
	maps := make(map[string]bool, len(zones))
	for _, z := range zones {
		maps[z.Map] = maps[z.Map] || z.Kind == safety.Allowed
	}
	for i, c := range d.Safety.Chargers {
		if !maps[c.Map] {
			p.Add(fmt.Sprintf("devices.safety.chargers[%d].map", i), fmt.Sprintf("(%s) has no zone of kind allowed: no device may go to the charger", c.Name))
		}
	}
	now := time.Now()
	for i, r := range d.Simulated.Robots {
		there := devices.Device{ID: r.ID, State: devices.Idle,
			Telemetry: &devices.Telemetry{Time: now, Received: now, Pose: &devices.Pose{Map: r.Map, X: r.X, Y: r.Y}}}
		decision := policies.Check(devices.Situation{Now: now, Command: devices.Command{DeviceID: r.ID, Type: devices.PickUp}, Device: there})
		if reason, ok := strings.CutPrefix(decision.Reason, "geofence: "); ok {
			p.Add(fmt.Sprintf("devices.simulated.robots[%d]", i), fmt.Sprintf("(%s) begins where every command is refused: %s", r.ID, reason))
		}
	}
}

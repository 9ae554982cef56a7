package devicespart

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otkit/otkit/transport/health"
)

// check is Degraded while the journal of commands cannot be written, a fleet cannot be reached, or the engine that has the devices is not heard. Faults of devices are
// counted: they are no faults of the server. Anybody may read the result, so it has names of fleets and figures only.
func (d *Devices) check(context.Context) health.Result {
	n := countOf(d.service.List())
	r := health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d devices: %d with faults, %d with a latched emergency stop", n.all, n.faulty, n.stopped),
		Data: map[string]any{"withFaults": n.faulty, "emergencyStops": n.stopped}}
	for s, count := range n.states {
		r.Data[string(s)] = count
	}
	away := d.fleets.away()
	switch {
	case d.meters.failing.Load():
		r.Status, r.Description = health.Degraded, "the journal of commands cannot be written: no command begins except for an emergency stop"
	case n.unheard > 0:
		r.Status, r.Description = health.Degraded, "the engine that carries out the commands of devices is not heard, or there is none"
		r.Data["unheard"] = n.unheard
	case len(away) > 0:
		r.Status, r.Description = health.Degraded, "fleets cannot be reached: "+strings.Join(slices.Sorted(maps.Keys(away)), ", ")
	}
	return r
}

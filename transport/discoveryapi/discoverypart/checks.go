package discoverypart

import (
	"context"
	"fmt"
	"strings"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/transport/health"
)

func (d *Discovery) check(context.Context) health.Result { return checkBridges(d.service.Bindings()) }

// maxNamed is how many bridges the description of the check names.
const maxNamed = 3

// checkBridges is Degraded while a bridge is offline by the rule of its alarm: it delivers nothing, and somebody must look after it. Such a
// bridge may be online: it answers, but cannot open its link.
func checkBridges(all []discovery.Info) health.Result {
	online, open := 0, 0
	var down []string
	for i := range all {
		if all[i].Online {
			online++
		}
		if all[i].LinkOpen {
			open++
		}
		if all[i].Down {
			down = append(down, all[i].BridgeID)
		}
	}
	bound := "1 bridge is bound"
	if len(all) != 1 {
		bound = fmt.Sprintf("%d bridges are bound", len(all))
	}
	r := health.Result{Status: health.Healthy, Description: fmt.Sprintf("%s, %d online", bound, online),
		Data: map[string]any{"bound": len(all), "online": online, "links": open, "offline": len(down)}}
	if len(down) > 0 {
		r.Status = health.Degraded
		r.Description += "; no samples from " + strings.Join(down[:min(len(down), maxNamed)], ", ")
		if more := len(down) - maxNamed; more > 0 {
			r.Description += fmt.Sprintf(" and %d more", more)
		}
	}
	return r
}

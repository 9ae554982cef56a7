package discoverypart

import (
	"context"
	"fmt"

	"github.com/otkit/otkit/transport/health"
)

// check counts the bridges. One that is offline is no fault of the server. Anybody may read the result, so it has figures only.
func (d *Discovery) check(context.Context) health.Result {
	online, open := 0, 0
	all := d.service.Bindings()
	for i := range all {
		if all[i].Online {
			online++
		}
		if all[i].LinkOpen {
			open++
		}
	}
	return health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d bridges are bound: %d online", len(all), online),
		Data: map[string]any{"bound": len(all), "online": online, "links": open}}
}

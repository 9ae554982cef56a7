package clusterpart

import (
	"context"
	"fmt"
	"strings"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/health"
)

// maxNamed is how much work that no engine does the health check names.
const maxNamed = 20

// check is Degraded while something lacks that the engines need to share the plant. Anybody may read the result: who may see more finds the reasons in the list of engines.
func (e *Engines) check(context.Context) health.Result {
	c := e.cluster
	view, bus := c.member.View(), c.opts.Bus.Status()
	idle := c.longUnassigned(&view)
	r := health.Result{Status: health.Healthy, Description: "1 engine", Data: map[string]any{"engines": len(view.Sessions), "bus": bus.Kind}}
	if n := len(view.Sessions); n != 1 {
		r.Description = fmt.Sprintf("%d engines", n)
	}
	if drained(&view) {
		r.Description += "; this one is drained"
	}
	var lacking []string
	if view.Err != nil {
		lacking = append(lacking, "the database does not answer, so that the session of this engine is not renewed")
	}
	if !bus.Up && len(view.Sessions) > 1 { // an engine that is alone has nobody to send to
		lacking = append(lacking, "the bus is down")
	}
	if len(idle) > 0 {
		lacking = append(lacking, fmt.Sprintf("no engine does: %s", listed(idle)))
		r.Data["unassigned"] = len(idle)
	}
	if len(lacking) > 0 {
		r.Status, r.Description = health.Degraded, r.Description+"; "+strings.Join(lacking, "; ")
	}
	return r
}

// drained reports whether the engine of a view gives its work away.
func drained(view *cluster.View) bool {
	s, found := view.Session(view.Self)
	return found && s.Draining
}

// longUnassigned returns the names of the work that no engine does for longer than it takes another one to take it over.
func (c *Cluster) longUnassigned(view *cluster.View) (names []string) {
	before := c.opts.Now().Add(-2 * c.opts.TTL)
	for _, w := range c.unassigned(view) {
		if !w.Since.After(before) {
			names = append(names, w.Name)
		}
	}
	return names
}

// listed names the first of works.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

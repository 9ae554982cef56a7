package clusterpart

import (
	"cmp"
	"slices"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/clusterapi"
)

// kindDriver is the kind of the work of running drivers, which package tagspart does.
const kindDriver = "driver"

// errDatabase tells people that the database does not answer; the log says why.
var errDatabase = fault.New(fault.Unavailable, "STORAGE_UNAVAILABLE", "the database does not answer")

// report returns how the engines are. lag is EnginesOptions.Lag.
func (c *Cluster) report(lag func(driver string) (time.Duration, bool)) clusterapi.Report {
	view := c.member.View()
	held := map[string][]cluster.Lease{}
	for _, l := range view.Leases {
		if view.Holds(&l) {
			held[l.Session] = append(held[l.Session], l)
		}
	}
	bus := c.opts.Bus.Status()
	report := clusterapi.Report{Unassigned: c.unassigned(&view), Bus: &bus}
	for i := range view.Sessions {
		s := &view.Sessions[i]
		e := clusterapi.Engine{Session: *s, Self: s.Engine == c.opts.Engine, Leases: held[s.ID]}
		if e.Self {
			e.Lag = time.Since(view.Renewed)
		} else {
			e.Lag, e.ValueLag = time.Since(view.Seen[s.ID]), longest(e.Leases, lag)
		}
		report.Engines = append(report.Engines, e)
	}
	if view.Err != nil {
		report.Database = errDatabase
	}
	return report
}

// longest returns the longest lag of the drivers among leases, nil if none has one.
func longest(leases []cluster.Lease, lag func(driver string) (time.Duration, bool)) (most *time.Duration) {
	for _, l := range leases {
		kind, id := split(l.Work)
		if kind != kindDriver {
			continue
		}
		if d, ok := lag(id); ok && (most == nil || d > *most) {
			most = &d
		}
	}
	return most
}

// noteUnassigned notes since when work is not done.
func (c *Cluster) noteUnassigned() {
	view := c.member.View()
	since := map[string]time.Time{}
	for _, w := range c.unassigned(&view) {
		since[w.Name] = w.Since
	}
	c.mu.Lock()
	c.idle = since
	c.mu.Unlock()
}

// unassigned returns the work that no engine does, by name, and since when.
func (c *Cluster) unassigned(view *cluster.View) []clusterapi.Unassigned {
	works, now := view.Unassigned(c.duties.Works()), c.opts.Now()
	slices.SortFunc(works, func(a, b cluster.Work) int { return cmp.Compare(a.Name, b.Name) })
	list := make([]clusterapi.Unassigned, len(works))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, w := range works {
		since, known := c.idle[w.Name]
		if !known {
			since = now
		}
		list[i] = clusterapi.Unassigned{Work: w, Since: since}
	}
	return list
}

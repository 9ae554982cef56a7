package bridgepart

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/health"
)

func (p *Part) checks() []health.Check {
	list := []health.Check{
		{Name: "driver", Ready: true, Run: p.checkDriver},
		{Name: "engine-connectivity", Run: p.checkLink},
		{Name: "offline-buffer", Run: p.checkBuffer},
	}
	if p.deps.Passive != nil {
		list = append(list, health.Check{Name: "ingest", Run: p.checkData})
	}
	return list
}

// checkDriver is Healthy if there is a driver: what its device does shows in the data.
func (p *Part) checkDriver(context.Context) health.Result {
	r := health.Result{Status: health.Healthy, Data: map[string]any{"driverId": p.o.DriverID, "driverType": p.o.DriverType}}
	all := p.deps.Tags.Drivers()
	i := slices.IndexFunc(all, func(d tags.DriverStatus) bool { return d.ID == p.o.DriverID })
	if i < 0 {
		r.Status, r.Description = health.Unhealthy, "there is no driver"
		return r
	}
	r.Data["state"] = all[i].State
	r.Description = fmt.Sprintf("the driver %s is %s", p.o.DriverID, all[i].State)
	return r
}

// checkLink is Unhealthy while the bridge is free, as its interface has it.
func (p *Part) checkLink(context.Context) health.Result {
	l := p.deps.Host.Link()
	r := health.Result{Status: health.Healthy, Description: "connected to the engine",
		Data: map[string]any{"engineUrl": l.EngineURL, "isConnected": l.Connected, "discoveryMethod": l.DiscoveryMethod}}
	switch {
	case p.deps.Host.Status().Status != link.StatusBound:
		r.Status, r.Description = health.Unhealthy, "the bridge is not bound to an engine (liveness: /health/live)"
	case !l.Connected:
		r.Status, r.Description = health.Degraded, "the engine is not connected; data is buffered (liveness: /health/live)"
		if l.LastError != "" {
			r.Data["lastError"] = l.LastError
		}
	}
	return r
}

// dropShown is how long health is Degraded after entries were dropped.
const dropShown = 10 * time.Minute

func (p *Part) checkBuffer(ctx context.Context) health.Result {
	s, err := p.deps.Host.Stats(ctx)
	r := health.Result{Status: health.Healthy, Description: fmt.Sprintf("%d entries wait for the engine", count(s)),
		Data: map[string]any{"enabled": p.o.BufferEnabled, "entries": count(s), "bytes": s.Bytes, "maxBytes": s.MaxBytes,
			"dropped": s.Dropped + s.Expired + s.MemoryDropped}}
	switch {
	case err != nil || s.BufferError != "":
		r.Status, r.Description = health.Degraded, "the offline buffer cannot be used; the newest entries wait in memory"
	case !s.LastDropAt.IsZero() && p.o.Now().Sub(s.LastDropAt) < dropShown:
		r.Status, r.Description = health.Degraded, "entries were lost lately: the offline buffer is full, or they were too old"
	case s.Damage != "" && p.o.Now().Sub(s.DamagedAt) < dropShown:
		r.Status, r.Description = health.Degraded, s.Damage
	}
	return r
}

func count(s bridge.Stats) int64 { return int64(s.Entries) + int64(s.Pending) }

// Ages of the last data of a passive driver from which on its health is worse.
const (
	dataLate = 30 * time.Second
	dataGone = 60 * time.Second
)

// checkData looks at when data came last, or at the start of the bridge before the first.
func (p *Part) checkData(context.Context) health.Result {
	last := p.deps.Passive.LastData()
	r := health.Result{Status: health.Healthy, Data: map[string]any{"lastDataAt": nil}}
	since := p.begun
	if !last.IsZero() {
		since = last
		r.Data["lastDataAt"] = last.UTC()
	}
	age := max(0, p.o.Now().Sub(since))
	r.Description = fmt.Sprintf("no data for %d s", int(age.Seconds()))
	switch {
	case age >= dataGone:
		r.Status = health.Unhealthy
	case age >= dataLate:
		r.Status = health.Degraded
	case last.IsZero():
		r.Description = "no data yet"
	default:
		r.Description = "data comes in"
	}
	return r
}

// HealthMembers returns the members that the body of /health has beside status and results. It is server.Options.HealthMembers.
func (p *Part) HealthMembers() map[string]any {
	connection := "none"
	if p.deps.Host.Status().Status == link.StatusBound {
		connection = "disconnected"
		if p.deps.Host.Link().Connected {
			connection = "connected"
		}
	}
	members := map[string]any{"driver": p.o.DriverID, "uptime": max(0, p.o.Now().Sub(p.begun).Seconds()), "cloudConnection": connection}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s, err := p.deps.Host.Stats(ctx); err == nil {
		members["bufferedMessages"] = count(s)
	} else {
		members["bufferedMessages"] = 0
	}
	return members
}

package discoverypart

import (
	"context"
	"reflect"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// driverKind is the kind of the work of running a driver.
const driverKind = "driver"

// plant is discovery.Plant of engines that form a cluster.
type plant struct{ cluster *clusterpart.Cluster }

// Lease implements discovery.Plant.
func (p plant) Lease(driverID string) *linked.Lease {
	held := p.cluster.Held(driverKind, driverID)
	if held == nil {
		return nil
	}
	return &linked.Lease{Epoch: held.Epoch, Valid: held.Valid, Done: held.Done(), Ended: held.Ended()}
}

// Owner implements discovery.Plant.
func (p plant) Owner(driverID string) (o discovery.Owner, ok bool) {
	s, _, ok := p.cluster.Owner(driverKind, driverID)
	return discovery.Owner{Engine: s.Engine, URL: s.URL, Beat: s.Beat}, ok
}

// Want implements discovery.Plant.
func (p plant) Want(driverID string, want bool) { p.cluster.Want(driverKind, driverID, want) }

// Others implements discovery.Plant.
func (p plant) Others() bool { return p.cluster.Others() }

// urls returns where bridges reach this engine itself, and those of the setting, which may lead to any of the engines.
func (d *Discovery) urls() (list []string) {
	for _, url := range []string{d.opts.Cluster.URL(), d.opts.EngineURL} {
		if url != "" && (len(list) == 0 || list[0] != url) {
			list = append(list, url)
		}
	}
	return list
}

// reachInterval is how often it is looked how the engines are reached: no bridge should meet a new key that it was not told.
const reachInterval = time.Second

// announceReach tells bridges when an engine has another key or another URL. A bridge whose link is not open then may not be able to verify the engine.
func (d *Discovery) announceReach(ctx context.Context) {
	if d.opts.Endpoint.TLS == nil && d.opts.Cluster == nil {
		return
	}
	ticker := time.NewTicker(reachInterval)
	defer ticker.Stop()
	for was := d.service.Reach(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		is := d.service.Reach()
		if (d.opts.Endpoint.TLS == nil || len(is.Pins) > 0) && !reflect.DeepEqual(is, was) {
			d.hub.SetReach(is)
			was = is
		}
	}
}

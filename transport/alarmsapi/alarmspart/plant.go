package alarmspart

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// kindDriver is the kind of the work to run a driver.
const kindDriver = "driver"

// plant is driveralarms.Plant and enginealarms.Plant.
type plant struct {
	cluster *clusterpart.Cluster
	spare   atomic.Bool
}

// stand makes this engine raise the alarms of the drivers that no engine runs, and those of engines that are lost, until ctx ends.
func (p *plant) stand(ctx context.Context, engines *enginealarms.Monitor) {
	p.spare.Store(true)
	defer p.spare.Store(false)
	engines.Run(ctx)
}

// Alive implements enginealarms.Plant.
func (p *plant) Alive() []string { return p.cluster.Alive() }

// Lost implements enginealarms.Plant.
func (p *plant) Lost() []cluster.Loss { return p.cluster.View().Lost }

// Owner implements driveralarms.Plant.
func (p *plant) Owner(driver string) (engine string, ok bool) {
	s, _, ok := p.cluster.Owner(kindDriver, driver)
	return s.Engine, ok
}

// Spare implements driveralarms.Plant.
func (p *plant) Spare() bool { return p.spare.Load() }

// Why implements driveralarms.Plant.
func (p *plant) Why(driver string) string {
	return strings.Join(p.cluster.Hindrances(kindDriver, driver), "; ")
}

package alarmspart

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"

	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// kindDriver is the kind of the work to run a driver.
const kindDriver = "driver"

// plant is driveralarms.Plant.
type plant struct {
	cluster *clusterpart.Cluster
	spare   atomic.Bool
}

// stand makes this engine raise the alarms of the drivers that no engine runs, until ctx ends.
func (p *plant) stand(ctx context.Context) {
	p.spare.Store(true)
	defer p.spare.Store(false)
	<-ctx.Done()
}

// Owner implements driveralarms.Plant.
func (p *plant) Owner(driver string) (engine string, ok bool) {
	s, _, ok := p.cluster.Owner(kindDriver, driver)
	return s.Engine, ok
}

// Spare implements driveralarms.Plant.
func (p *plant) Spare() bool { return p.spare.Load() }

// Why implements driveralarms.Plant.
func (p *plant) Why(driver string) string {
	var reasons []string
	for _, s := range p.cluster.View().Sessions {
		if reason, unable := s.Unable[kindDriver+"/"+driver]; unable {
			reasons = append(reasons, cmp.Or(s.Name, s.Engine)+": "+reason)
		}
	}
	return strings.Join(reasons, "; ")
}

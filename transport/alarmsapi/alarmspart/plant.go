package alarmspart

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

const (
	kindDriver      = "driver" // the kind of the work to run a driver
	kindJob         = "job"
	jobDriverAlarms = "driver-alarms"
)

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

// Forget implements enginealarms.Plant.
func (p *plant) Forget(ctx context.Context, session string) error {
	return p.cluster.Forget(ctx, session)
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
	return strings.Join(p.cluster.Hindrances(kindDriver, driver), "; ")
}

// onDuty stores the alarms of lost engines while this engine has their job. What it was about to store when it hung and lost the job is not stored: the
// engine that has the job since knows better.
type onDuty struct {
	*alarms.Service
	cluster *clusterpart.Cluster
}

// Apply implements alarms.Target.
func (d onDuty) Apply(ctx context.Context, signals []alarms.Signal) ([]alarms.Result, error) {
	lease := d.cluster.Held(kindJob, jobDriverAlarms)
	signals = slices.Clone(signals)
	for i := range signals {
		signals[i].Valid = func() bool { return lease != nil && lease.Valid() }
	}
	return d.Service.Apply(ctx, signals)
}

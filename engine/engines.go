package engine

import (
	"time"

	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// showEngines makes the part that shows the engines, with what this one is called.
func (e *Engine) showEngines(o clusterpart.Options) (err error) {
	e.engines, err = clusterpart.NewEngines(e.cluster, clusterpart.EnginesOptions{Engine: o.Engine, Name: o.Name, Host: o.Host, URL: o.URL, Version: o.Version,
		Ping: e.opts.Ping, Now: o.Now, Works: e.works, Lag: func(driver string) (time.Duration, bool) { return e.tags.Lag(driver) }})
	return err
}

// works returns what an engine does that is alone.
func (e *Engine) works() (list []string) {
	for _, d := range e.Tags().Drivers() {
		list = append(list, "driver/"+d.ID)
	}
	for _, d := range e.Devices().List() {
		list = append(list, "device/"+d.ID)
	}
	return list
}

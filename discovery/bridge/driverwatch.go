package bridge

import (
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// driverWatch tells the engine when the driver goes offline and comes back. For one goroutine.
type driverWatch struct {
	collector *collector
	told      string // the kind of the last event; empty: what the engine knows may be out of date
}

func (w *driverWatch) look() {
	c := w.collector
	c.mu.Lock()
	active := c.active
	c.mu.Unlock()
	if !active {
		w.told = ""
		return
	}
	kind, text := w.state()
	if kind == "" || kind == w.told {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		c.event(kind, text)
		w.told = kind
	}
}

// state returns the event for the driver's state; none while it connects for the first time.
func (w *driverWatch) state() (kind, text string) {
	for _, d := range w.collector.host.o.Tags.Drivers() {
		if d.ID != w.collector.host.o.DriverID {
			continue
		}
		switch d.State {
		case tags.DriverOnline:
			return link.DriverOnline, ""
		case tags.DriverBackoff, tags.DriverNotResponding:
			return link.DriverOffline, d.LastError
		case tags.DriverConnecting, tags.DriverStopped:
		}
	}
	return "", ""
}

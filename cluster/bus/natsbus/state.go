package natsbus

import (
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/otkit/otkit/cluster/bus"
)

// Status implements [bus.Bus].
func (b *Bus) Status() bus.Status {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	kind := "NATS"
	if b.o.Server != nil {
		kind = "embedded NATS"
	}
	return bus.Status{Kind: kind, Up: b.problem == "", Since: b.since, Err: b.problem, Lost: b.inbox.Lost()}
}

func (b *Bus) up(nc *nats.Conn) {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	b.problem, b.violated, b.since = "", "", b.o.Now()
	if b.o.Server == nil {
		b.o.Logger.Info("connected to NATS", "server", nc.ConnectedUrlRedacted(), "name", nc.ConnectedServerName(), "version", nc.ConnectedServerVersion())
	}
}

// down takes note of why the bus is not connected.
func (b *Bus) down(err error) {
	if err == nil {
		err = nats.ErrConnectionClosed
	}
	if b.isClosed() {
		err = bus.ErrClosed
	}
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	if b.problem == "" {
		b.since = b.o.Now()
		if !b.isClosed() {
			b.o.Logger.Warn("NATS not connected; retrying", "error", err)
		}
	}
	b.problem = err.Error()
}

// failed takes note of what a server has refused on a connection that goes on.
func (b *Bus) failed(err error) {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	if errors.Is(err, nats.ErrPermissionViolation) && b.violated != err.Error() {
		b.violated = err.Error()
		b.o.Logger.Warn("NATS refuses messages of the bus", "error", err)
	}
}

func (b *Bus) isClosed() bool {
	select {
	case <-b.closed:
		return true
	default:
		return false
	}
}

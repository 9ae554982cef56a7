package natsbus

import (
	"errors"
	"io"
	"net"

	"github.com/nats-io/nats.go"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
)

// ErrRefused is the error of Connect when a server that answers cannot be used: it refuses the credentials or the certificate, or has other limits than the bus needs.
var ErrRefused = fault.New(fault.Forbidden, "NATS_REFUSED", "the NATS server cannot be used")

// unreachable reports whether an attempt to connect may succeed later with the same settings.
func unreachable(err error) bool {
	var (
		network net.Error
		alert   *net.OpError
	)
	timeout := errors.As(err, &network) && network.Timeout()
	switch {
	case errors.As(err, &alert) && alert.Op == "remote error": // that is how crypto/tls calls an alert
		return false
	case errors.Is(err, nats.ErrTLS) && !timeout: // a server that wants another certificate may just close the connection
		return false
	case network != nil, errors.Is(err, io.EOF), errors.Is(err, nats.ErrNoServers), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrStaleConnection), errors.Is(err, nats.ErrMaxConnectionsExceeded), errors.Is(err, nats.ErrMaxAccountConnectionsExceeded):
		return true
	}
	return false
}

// check returns why a connection cannot be used, after a round trip to the server.
func (b *Bus) check(nc *nats.Conn) error {
	if limit := nc.MaxPayload(); limit < bus.MaxMessage {
		return ErrRefused.Because("its max_payload is %d bytes, but at least %d are needed", limit, bus.MaxMessage)
	}
	if err := nc.Publish(b.answers+"0", nil); err != nil {
		return err
	}
	if err := nc.FlushTimeout(b.o.Timeout); err != nil {
		return err
	}
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return ErrRefused.Because("the account must be allowed to publish and to subscribe to %s.>", b.o.Prefix).Wrap(err)
	}
	return nil
}

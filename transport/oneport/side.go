package oneport

import (
	"net"
	"sync"
)

// side is the listener of one protocol.
type side struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newSide(addr net.Addr) *side {
	return &side{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// hand waits until the server accepts the connection, and closes it when the side is closed.
func (s *side) hand(c net.Conn) {
	select {
	case s.conns <- c:
	case <-s.done:
		_ = c.Close()
	}
}

// Accept returns the next connection, or net.ErrClosed once the side is closed.
func (s *side) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, &net.OpError{Op: "accept", Net: s.addr.Network(), Addr: s.addr, Err: net.ErrClosed}
	}
}

// Close ends Accept.
func (s *side) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

// Addr returns the address of the port.
func (s *side) Addr() net.Addr { return s.addr }

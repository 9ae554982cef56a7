package modbus

import (
	"context"
	"fmt"
	"sync"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/tags"
)

// link keeps the connection to the endpoint.
//
// The library knows no contexts and cannot be interrupted: its Close waits for the request under way.
// So each connection has a goroutine that is alone with the library's client, and callers leave when
// their context ends. A connection that was left, or whose answers cannot be trusted any more, is
// stopped: its goroutine closes it after the request under way, which the timeout bounds. The next
// connection is opened only then, so there is at most one, and devices that accept no second one are
// content.
type link struct {
	config *modbus.ClientConfiguration

	mu      sync.Mutex
	current *connection // newest connection, perhaps stopped
	wanted  bool        // Connect succeeded, and neither Close nor the end of the connection came after
	closes  int         // calls of close, so that an open under way notices one
}

// connection is one TCP connection. Its goroutine ends soon after stop.
type connection struct {
	client   *modbus.ModbusClient
	unit     uint8 // unit that the client is set to; belongs to the goroutine
	opened   chan error
	requests chan request
	stopped  chan struct{}
	stop     func()        // closes stopped, once
	ended    chan struct{} // closed when the goroutine has ended
}

type request struct {
	unit   uint8
	do     func(*modbus.ModbusClient) ([]byte, error)
	answer chan<- answer // has room, so that the goroutine never waits for a caller that left
}

type answer struct {
	bytes []byte
	err   error
}

func (c *connection) run() {
	defer close(c.ended)
	err := c.client.Open()
	c.opened <- err
	if err != nil {
		return
	}
	for {
		select {
		case <-c.stopped:
			// Nobody could do anything about an error here.
			_ = c.client.Close()
			return
		case r := <-c.requests:
			r.answer <- c.execute(r)
		}
	}
}

func (c *connection) execute(r request) (a answer) {
	if r.unit != c.unit {
		if a.err = c.client.SetUnitId(r.unit); a.err != nil {
			return a
		}
		c.unit = r.unit
	}
	a.bytes, a.err = r.do(c.client)
	return a
}

// connect replaces the connection, if there is one, by a new one.
func (l *link) connect(ctx context.Context) error {
	l.mu.Lock()
	closes := l.closes
	l.mu.Unlock()
	return l.open(ctx, closes)
}

// open opens a connection unless close is called meanwhile, that is, more than closes times.
func (l *link) open(ctx context.Context, closes int) error {
	if err := l.awaitEnd(ctx); err != nil {
		return err
	}
	client, err := modbus.NewClient(l.config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	stopped := make(chan struct{})
	c := &connection{
		client: client, unit: 1, opened: make(chan error, 1), requests: make(chan request),
		stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) }), ended: make(chan struct{}),
	}
	if !l.adopt(c, closes) {
		return tags.ErrNotConnected
	}
	select {
	case err := <-c.opened:
		if err != nil {
			c.stop()
			return fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
		}
	case <-c.stopped:
		return tags.ErrNotConnected
	case <-ctx.Done():
		c.stop()
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closes != closes {
		return tags.ErrNotConnected
	}
	l.wanted = true
	return nil
}

func (l *link) awaitEnd(ctx context.Context) error {
	l.mu.Lock()
	old := l.current
	l.wanted = false
	l.mu.Unlock()
	if old == nil {
		return ctx.Err()
	}
	old.stop()
	select {
	case <-old.ended:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// adopt makes c the current connection and starts it.
func (l *link) adopt(c *connection, closes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closes != closes {
		return false
	}
	l.current = c
	go c.run()
	return true
}

// connected says whether requests may be made; a dropped connection counts, as it is opened anew.
func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted
}

// ready gives a connection that can be asked, opening a new one after a drop.
func (l *link) ready(ctx context.Context) (*connection, error) {
	l.mu.Lock()
	c, wanted, closes := l.current, l.wanted, l.closes
	l.mu.Unlock()
	if !wanted {
		return nil, tags.ErrNotConnected
	}
	select {
	case <-c.stopped:
	default:
		return c, nil
	}
	if err := l.open(ctx, closes); err != nil {
		// Also when ctx ended: what was connected is not any more.
		return nil, fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, nil
}

// do lets the library make one request. When ctx ends first, the connection is dropped and the error
// is that of ctx.
func (l *link) do(ctx context.Context, unit uint8, f func(*modbus.ModbusClient) ([]byte, error)) ([]byte, error) {
	c, err := l.ready(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan answer, 1)
	select {
	case c.requests <- request{unit: unit, do: f, answer: done}:
	case <-c.stopped:
		return nil, tags.ErrNotConnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-done:
		return a.bytes, a.err
	case <-c.stopped:
		return nil, tags.ErrNotConnected
	case <-ctx.Done():
		c.stop()
		return nil, ctx.Err()
	}
}

// drop gives up the connection, for the next request to open a new one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.stop()
	}
}

// lose gives up the connection for good: until the next connect, every request fails.
func (l *link) lose() {
	l.mu.Lock()
	l.wanted = false
	l.mu.Unlock()
	l.drop()
}

// close gives up the connection and waits for its goroutine.
func (l *link) close() {
	l.mu.Lock()
	l.wanted = false
	l.closes++
	c := l.current
	l.mu.Unlock()
	if c != nil {
		c.stop()
		<-c.ended
	}
}

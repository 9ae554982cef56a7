package modbus

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

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
//
// Serial frames have no number that ties an answer to its request. So where they are used, a
// connection that ended with a request unanswered leaves a pause behind it, in which nobody is there
// to receive the late answer, and what the gateway has kept is received and thrown away.
type link struct {
	config  *modbus.ClientConfiguration
	address string
	pause   time.Duration // after an unanswered request; 0 where answers have numbers
	gateway bool          // it may keep answers that nobody was there for

	mu      sync.Mutex
	current *connection   // newest connection, perhaps stopped
	wanted  bool          // Connect succeeded, and neither Close nor the end of the connection came after
	closing chan struct{} // closed and replaced by each close, so that an open under way notices one
}

func newLink(o Options) *link {
	l := &link{config: o.client(), address: o.Address, closing: make(chan struct{})}
	if o.Protocol.serial() {
		l.pause = o.Timeout
	}
	l.gateway = o.Protocol == RTUOverTCP
	return l
}

// connection is one TCP connection. Its goroutine ends soon after stop.
type connection struct {
	client   *modbus.ModbusClient
	began    time.Time
	unit     uint8 // unit that the client is set to; belongs to the goroutine
	opened   chan error
	requests chan request
	stopped  chan struct{}
	stop     func()        // closes stopped, once
	ended    chan struct{} // closed when the goroutine has ended

	// Of the goroutine until it has ended.
	unanswered bool // an answer may still come
	endedAt    time.Time
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
	defer func() {
		c.endedAt = time.Now()
		close(c.ended)
	}()
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
	if a.err != nil {
		meaning, _ := judge(a.err)
		c.unanswered = c.unanswered || meaning == outcomeUnknown || meaning == gone
	}
	return a
}

// connect replaces the connection, if there is one, by a new one.
func (l *link) connect(ctx context.Context) error {
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	return l.open(ctx, closing)
}

// open opens a connection unless close is called meanwhile.
func (l *link) open(ctx context.Context, closing chan struct{}) error {
	if err := l.awaitEnd(ctx); err != nil {
		return err
	}
	if err := l.settle(ctx, closing); err != nil {
		return err
	}
	client, err := modbus.NewClient(l.config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	stopped := make(chan struct{})
	c := &connection{
		client: client, began: time.Now(), unit: 1, opened: make(chan error, 1), requests: make(chan request),
		stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) }), ended: make(chan struct{}),
	}
	if !l.adopt(c, closing) {
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
	if l.closing != closing {
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

// quiet is how long nothing must come from a gateway before it counts as having nothing more.
const quiet = 50 * time.Millisecond

// settle waits until the answer to a request that the last connection left unanswered cannot matter.
func (l *link) settle(ctx context.Context, closing chan struct{}) error {
	l.mu.Lock()
	old := l.current
	l.mu.Unlock()
	if l.pause == 0 || old == nil || !old.unanswered {
		return nil
	}
	timer := time.NewTimer(time.Until(old.endedAt.Add(l.pause)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-closing:
		return tags.ErrNotConnected
	case <-ctx.Done():
		return ctx.Err()
	}
	if !l.gateway {
		return nil // what a serial port has received, the library throws away on opening it
	}
	return l.drain(ctx, closing)
}

// drain receives what the gateway has kept, through a connection of its own: of what comes on opening
// one, the library takes the bytes of the first half millisecond only.
func (l *link) drain(ctx context.Context, closing chan struct{}) error {
	open, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", l.address)
	if err != nil {
		return fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
	}
	defer func() { _ = open.Close() }()
	kept := make([]byte, 1024)
	for end := time.Now().Add(l.pause); time.Now().Before(end); {
		if err := open.SetReadDeadline(time.Now().Add(quiet)); err != nil {
			return fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
		}
		if _, err := open.Read(kept); err != nil {
			break // quiet, or the gateway does not use it
		}
		select {
		case <-closing:
			return tags.ErrNotConnected
		default:
		}
	}
	return ctx.Err()
}

// adopt makes c the current connection and starts it.
func (l *link) adopt(c *connection, closing chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing != closing {
		return false
	}
	l.current = c
	go c.run()
	return true
}

// connected reports whether requests may be made; a dropped connection counts, as it is opened again.
func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted
}

// ready returns a usable connection. It opens a new one after a drop.
func (l *link) ready(ctx context.Context) (*connection, error) {
	l.mu.Lock()
	c, wanted, closing := l.current, l.wanted, l.closing
	l.mu.Unlock()
	if !wanted {
		return nil, tags.ErrNotConnected
	}
	select {
	case <-c.stopped:
	default:
		return c, nil
	}
	if err := l.open(ctx, closing); err != nil {
		// Also when ctx ended: what was connected is not any more.
		return nil, fmt.Errorf("%w: %w", tags.ErrNotConnected, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, nil
}

// do lets the library make one request; sent is when it may have gone out, zero when it surely has
// not. When ctx ends first, the connection is dropped and the error is that of ctx.
func (l *link) do(ctx context.Context, unit uint8, f func(*modbus.ModbusClient) ([]byte, error)) (raw []byte, sent time.Time, err error) {
	c, err := l.ready(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	done := make(chan answer, 1)
	sent = time.Now()
	select {
	case c.requests <- request{unit: unit, do: f, answer: done}:
	case <-c.stopped:
		return nil, time.Time{}, tags.ErrNotConnected
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
	select {
	case a := <-done:
		return a.bytes, sent, a.err
	case <-c.stopped:
		return nil, sent, tags.ErrNotConnected
	case <-ctx.Done():
		c.stop()
		return nil, sent, ctx.Err()
	}
}

// keepSilent is how long a device that does not answer keeps its connection.
const keepSilent = 15 * time.Second

// dropSilent closes the connection for want of an answer, or keeps it. alone reports that it serves one
// unit only, and failures how often in a row that has not answered. Where answers have numbers, a late
// one does no harm, and what is sent to a device that is stopped would only pile up connections in
// front of it. They are replaced now and then all the same, because one can be dead without notice.
func (l *link) dropSilent(alone bool, failures int) {
	l.mu.Lock()
	keep := alone && l.pause == 0 && failures > 1 && l.current != nil && time.Since(l.current.began) < keepSilent
	l.mu.Unlock()
	if !keep {
		l.drop()
	}
}

// drop closes the connection. The next request opens a new one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.stop()
	}
}

// lose closes the connection for good: every request fails until the next connect.
func (l *link) lose() {
	l.mu.Lock()
	l.wanted = false
	l.mu.Unlock()
	l.drop()
}

// close closes the connection and waits for its goroutine.
func (l *link) close() {
	l.mu.Lock()
	l.wanted = false
	close(l.closing)
	l.closing = make(chan struct{})
	c := l.current
	l.mu.Unlock()
	if c != nil {
		c.stop()
		<-c.ended
	}
}

package signalr

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// transport is the way by which a connection reaches its client.
type transport uint8

const (
	noTransport transport = iota // negotiated only
	webSockets
	serverSentEvents
	longPolling
)

// String returns the protocol's name of the transport.
func (t transport) String() string {
	return [...]string{"none", "WebSockets", "ServerSentEvents", "LongPolling"}[t]
}

// conn is one connection over any transport. Its context ends when the connection does, for any reason, and ends everything
// that serves it.
type conn struct {
	hub       *Hub
	principal string // who began it
	address   string // from where
	id, token string // what may be shown, and the client's secret
	ctx       context.Context
	cancel    context.CancelCauseFunc
	wake      chan struct{} // has an element if the queue may have one

	mu        sync.Mutex
	transport transport
	polling   bool          // a long poll is pending
	next      chan struct{} // closed when another long poll has arrived while one is pending
	over      chan struct{} // closed when the pending long poll is over
	ready     bool          // the handshake is done
	protocol  protocol      // that the handshake chose; c.receiving is held for writing as well
	oneByOne  bool          // the client reads one message of each answer to a poll
	pinged    bool          // the client pings, so that its silence means that it is gone
	ending    error         // why nothing more is queued; the connection ends when the queue is written
	released  bool          // drop was called
	watch     *time.Timer   // limits the time for what the client must do next
	stopLife  func()
	queue     [][]byte
	bytes     int             // of queue
	values    context.Context // of the request that connected
	calls     []call          // invocations that wait; the first one is being carried out
	client    Client          // what methods get

	receiving sync.Mutex
	early     []byte        // received before the transport was known
	partial   []byte        // a message whose end has not arrived
	pace      *rate.Limiter // of invocations; nil before the first one
}

// begin assigns the connection to a request that will serve it, which must call finish. A connection has
// one transport, and at most one request that writes.
func (c *conn) begin(t transport, r *http.Request) (first bool, err error) {
	if first, err = c.assign(t, r); first {
		c.receive(nil) // what was received early
	}
	return first, err
}

func (c *conn) assign(t transport, r *http.Request) (first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.released || c.ctx.Err() != nil:
		return false, ErrConnectionNotFound
	case c.transport == noTransport:
		first = true
	case c.transport != t || t != longPolling || c.polling:
		return false, ErrConnectionInUse
	}
	if first {
		c.watch.Reset(c.hub.opts.HandshakeTimeout)
		c.transport = t
		// The connection keeps the request's values and does not end with it.
		c.values = context.WithoutCancel(r.Context())
		life, stop := c.hub.opts.Lifetime(c.values)
		unhook := context.AfterFunc(life, func() { c.end("The lifetime of the connection has ended.", true, errLifetime) })
		c.stopLife = func() {
			unhook()
			stop()
		}
	}
	if c.polling = t == longPolling; c.polling {
		c.next, c.over = make(chan struct{}), make(chan struct{})
	}
	c.rearm()
	c.hub.wg.Add(1) // never from zero: the connection itself counts until it is released
	return first, nil
}

// beginPoll is begin for a long poll. A client that polls has finished its last poll, even if the server has not noticed:
// beginPoll ends that poll and waits for it.
func (c *conn) beginPoll(r *http.Request) (first bool, err error) {
	for {
		c.mu.Lock()
		over := c.over
		waiting := c.polling && c.transport == longPolling
		if waiting {
			select {
			case <-c.next:
			default:
				close(c.next)
			}
		}
		c.mu.Unlock()
		if !waiting {
			// Of several that arrive together one is served, until the next one ends it.
			if first, err = c.begin(longPolling, r); !errors.Is(err, ErrConnectionInUse) {
				return first, err
			}
			c.mu.Lock()
			polls := c.transport == longPolling
			c.mu.Unlock()
			if !polls {
				return false, err
			}
			continue
		}
		select {
		case <-over:
		case <-r.Context().Done():
			return false, ErrConnectionInUse
		}
	}
}

// superseded returns a channel that is closed when another long poll has arrived.
func (c *conn) superseded() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// finish ends the assignment of the connection to a request.
func (c *conn) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.polling {
		close(c.over)
	}
	c.polling = false
	c.rearm()
	if len(c.queue) > 0 { // queued too late for the request that has just ended
		c.signal()
	}
	c.hub.wg.Done()
}

// release ends what the connection has started.
func (c *conn) release() (t transport, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released = true
	c.watch.Stop()
	c.queue, c.bytes = nil, 0
	if c.stopLife == nil {
		c.stopLife = func() {}
	}
	return c.transport, c.stopLife
}

// pollGrace is how long a message that closes a connection waits for the next long poll.
const pollGrace = 2 * time.Second

// rearm sets the limit for what the client must do next. Before the handshake it has been set.
// c.mu is held.
func (c *conn) rearm() {
	switch {
	case !c.ready || c.released:
	case c.transport != longPolling && !c.pinged: // like the stock server: some clients never ping
		c.watch.Stop()
	case c.transport != longPolling:
		c.watch.Reset(c.hub.opts.ClientTimeout)
	case c.polling: // a client that polls need not send
		c.watch.Stop()
	case c.ending != nil: // a connected client comes immediately
		c.watch.Reset(min(pollGrace, c.hub.opts.PollIdle))
	default:
		c.watch.Reset(c.hub.opts.PollIdle)
	}
}

// timeout is called when the client has missed its deadline.
func (c *conn) timeout() {
	c.mu.Lock()
	t, ready, polling := c.transport, c.ready, c.polling
	c.mu.Unlock()
	switch {
	case t == noTransport:
		c.cancel(errNotConnected)
	case !ready && (t != longPolling || polling):
		c.end("The handshake took too long.", false, errNoHandshake)
	case t != longPolling:
		c.end("The client has sent nothing for too long.", true, errSilent)
	case !polling:
		c.cancel(errNotPolling)
	}
}

// push queues a message, or cuts the connection if the queue is full.
func (c *conn) push(record []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil || c.released {
		return
	}
	if n := len(c.queue); n >= c.hub.opts.QueueMessages || n > 0 && c.bytes+len(record) > c.hub.opts.QueueBytes {
		c.cancel(errSlow)
		return
	}
	c.enqueue(record)
}

// hasRoom reports whether the queue is at most half full.
func (c *conn) hasRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) <= c.hub.opts.QueueMessages/2 && c.bytes <= c.hub.opts.QueueBytes/2
}

func (c *conn) enqueue(record []byte) {
	c.queue = append(c.queue, record)
	c.bytes += len(record)
	c.signal()
}

func (c *conn) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// end closes the connection once the queue and a closing message are written. text is the reason for the client; "" is no
// error.
func (c *conn) end(text string, reconnect bool, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ending != nil || c.released:
	case c.transport == noTransport:
		c.cancel(cause)
	case c.ready:
		c.ending = cause
		c.enqueue(c.protocol.encode(closing{Type: typeClose, Error: text, AllowReconnect: reconnect}))
		c.rearm()
	default: // before the handshake a client understands only an answer to it
		if text == "" {
			text = "The server is closing."
		}
		c.ending = cause
		c.enqueue(encodeOwn(handshakeResponse{Error: text}))
	}
}

// keepQueue is the length of a queue that is worth keeping for reuse.
const keepQueue = 256

// take returns all that is queued, and the reason if it is the last. written is a slice that take has
// returned before and that is no longer used.
func (c *conn) take(written [][]byte) (batch [][]byte, last error) {
	clear(written)
	if cap(written) > keepQueue {
		written = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	batch = c.queue
	c.queue, c.bytes = written[:0], 0
	return batch, c.ending
}

// putBack queues again, before all others, what take returned and the client did not receive.
func (c *conn) putBack(batch [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return
	}
	for _, record := range batch {
		c.bytes += len(record)
	}
	c.queue = append(batch, c.queue...)
	c.signal()
}

// Limits of a single write, each time under a new write deadline.
const (
	chunkMessages = 64
	chunkBytes    = 32 << 10
)

// pump writes what is queued, some messages at a time, and pings, until the connection ends or its
// client is gone. The error is the reason.
func (c *conn) pump(gone <-chan struct{}, write func(chunk [][]byte) error) error {
	ping := time.NewTicker(c.hub.opts.KeepAlive)
	defer ping.Stop()
	var batch [][]byte
	for {
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-gone:
			return errGone
		case <-ping.C:
			c.ping()
			continue
		case <-c.wake:
		}
		var last error
		batch, last = c.take(batch)
		for rest := batch; len(rest) > 0; {
			if c.ctx.Err() != nil {
				return context.Cause(c.ctx)
			}
			n, size := 1, len(rest[0])
			for n < min(len(rest), chunkMessages) && size+len(rest[n]) <= chunkBytes {
				size += len(rest[n])
				n++
			}
			if err := write(rest[:n]); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
				return errSlow
			} else if err != nil {
				return err
			}
			rest = rest[n:]
			ping.Reset(c.hub.opts.KeepAlive)
		}
		if last != nil {
			return last
		}
	}
}

func (c *conn) ping() {
	c.mu.Lock()
	ready, p := c.ready, c.protocol
	c.mu.Unlock()
	if ready {
		c.push(p.encode(bare{Type: typePing}))
	}
}

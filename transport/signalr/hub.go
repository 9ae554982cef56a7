package signalr

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Hub is the handler of one hub path. Safe for concurrent use. Close must be called.
type Hub struct {
	opts Options
	log  *slog.Logger
	wg   sync.WaitGroup // connections, and requests that serve one

	// mu also serializes broadcasts, so that all clients see one order.
	mu      sync.Mutex
	closed  bool
	conns   map[string]*conn    // all, by token
	owned   map[owner]int       // conns of each owner; none with 0
	clients map[*conn]transport // those past the handshake
	stats   Stats               // the counters; the rest is counted when asked for
}

// Stats are figures of a hub.
type Stats struct {
	// Clients that are connected, by transport.
	WebSockets, ServerSentEvents, LongPolling int
	// Connecting are those that have negotiated or connected but not completed the handshake.
	Connecting int
	Broadcasts uint64 // calls of Broadcast that had a message to send
	Cut        uint64 // clients cut because they read too slowly
	Refused    uint64 // clients refused because of MaxConnections, MaxPerPrincipal or MaxPerAddress
}

// New returns a hub. It starts nothing until a client connects.
func New(opts Options) (*Hub, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	return &Hub{opts: opts, log: opts.Logger, conns: make(map[string]*conn), owned: make(map[owner]int), clients: make(map[*conn]transport)}, nil
}

// Broadcast invokes the method target on all connected clients. It never waits for one. If
// encoding/json cannot encode an argument, it returns [ErrNotEncodable] and sends nothing. After Close it does nothing.
func (h *Hub) Broadcast(target string, args ...any) error {
	m, err := NewMessage(target, args...)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Broadcasts++
	for c := range h.clients {
		c.push(m.record(c.protocol))
	}
	return nil
}

// Clients returns the number of connected clients.
func (h *Hub) Clients() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients)
}

// roomInterval is the time between two checks of the queues.
const roomInterval = 5 * time.Millisecond

// WaitForRoom waits until every client's queue is at most half full, but not longer than timeout or until ctx ends. A caller that has very
// many broadcasts calls it regularly, so that clients that read are not cut.
func (h *Hub) WaitForRoom(ctx context.Context, timeout time.Duration) {
	if h.hasRoom() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	for !h.hasRoom() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (h *Hub) hasRoom() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if !c.hasRoom() {
			return false
		}
	}
	return true
}

// Stats returns the current figures.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Connecting = len(h.conns) - len(h.clients)
	for _, t := range h.clients {
		switch t {
		case webSockets:
			s.WebSockets++
		case serverSentEvents:
			s.ServerSentEvents++
		case longPolling:
			s.LongPolling++
		}
	}
	return s
}

// Close asks all clients to reconnect later, which those with automatic reconnect do, and waits until
// their queues are sent and they have gone. If ctx ends first, Close cuts them and returns its cause.
// New clients are refused with 503 as soon as Close is called.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, c := range h.all() {
		c.end("", true, ErrClosed)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.wg.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range h.all() {
		c.cancel(ErrClosed)
	}
	<-done
	return context.Cause(ctx)
}

func (h *Hub) all() []*conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*conn, 0, len(h.conns))
	for _, c := range h.conns {
		all = append(all, c)
	}
	return all
}

// owner is a principal or an address.
type owner struct{ principal, address string }

// mayOwn reports whether the owners may have another connection. h.mu is held.
func (h *Hub) mayOwn(principal, address string) bool {
	within := func(o owner, most int) bool { return o == owner{} || most < 0 || h.owned[o] < most }
	return within(owner{principal: principal}, h.opts.MaxPerPrincipal) && within(owner{address: address}, h.opts.MaxPerAddress)
}

// own counts a new connection of the owners (1) or one that has ended (-1). h.mu is held.
func (h *Hub) own(principal, address string, change int) {
	for _, o := range [...]owner{{principal: principal}, {address: address}} {
		if o == (owner{}) {
			continue
		}
		if h.owned[o] += change; h.owned[o] == 0 {
			delete(h.owned, o)
		}
	}
}

// open returns a new connection, which has no transport yet.
func (h *Hub) open(ctx context.Context) (*conn, error) {
	principal, address := h.opts.Owner(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrClosed
	case len(h.conns) >= h.opts.MaxConnections:
		h.stats.Refused++
		return nil, ErrFull
	case !h.mayOwn(principal, address):
		h.stats.Refused++
		return nil, ErrTooMany
	}
	h.own(principal, address, 1)
	c := &conn{hub: h, principal: principal, address: address, id: rand.Text(), token: rand.Text(), wake: make(chan struct{}, 1)}
	c.client.conn = c
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	h.conns[c.token] = c
	h.wg.Add(1)
	context.AfterFunc(c.ctx, func() {
		defer h.wg.Done()
		h.drop(c)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = time.AfterFunc(h.opts.HandshakeTimeout, c.timeout)
	return c, nil
}

// find returns the connection with a token, which only the principal that began it may use.
func (h *Hub) find(ctx context.Context, token string) (*conn, error) {
	if token == "" {
		return nil, ErrInvalidRequest.Because("id is required")
	}
	h.mu.Lock()
	c, ok := h.conns[token]
	h.mu.Unlock()
	if !ok {
		return nil, ErrConnectionNotFound
	}
	if principal, _ := h.opts.Owner(ctx); principal != c.principal {
		return nil, ErrNotOwner
	}
	return c, nil
}

// admit lets a connection receive broadcasts.
func (h *Hub) admit(c *conn, t transport) {
	if c.ctx.Err() == nil { // else drop was called, or will be
		h.clients[c] = t
	}
}

// drop removes a connection that has ended.
func (h *Hub) drop(c *conn) {
	cause := context.Cause(c.ctx)
	h.mu.Lock()
	delete(h.conns, c.token)
	h.own(c.principal, c.address, -1)
	delete(h.clients, c)
	if errors.Is(cause, errSlow) {
		h.stats.Cut++
	}
	h.mu.Unlock()

	t, stop := c.release()
	stop()
	level := slog.LevelDebug
	if errors.Is(cause, errSlow) {
		level = slog.LevelWarn
	}
	h.log.Log(context.Background(), level, "hub connection ended", "connection", c.id, "transport", t.String(), "cause", cause)
}

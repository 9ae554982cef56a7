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

	// mu also makes broadcasts one after the other, so that all clients see one order.
	mu      sync.Mutex
	closed  bool
	conns   map[string]*conn    // all, by token
	clients map[*conn]transport // those past the handshake
	stats   Stats               // the counters; the rest is counted when asked for
}

// Stats are figures of a hub.
type Stats struct {
	// Clients that are connected, by transport.
	WebSockets, ServerSentEvents, LongPolling int
	// Connecting are those that have negotiated or connected and not shaken hands yet.
	Connecting int
	Broadcasts uint64 // calls of Broadcast that had a message to send
	Cut        uint64 // clients cut because they read too slowly
	Refused    uint64 // clients refused because of MaxConnections
}

// NewHub makes a hub. It starts nothing until a client comes.
func NewHub(opts Options) (*Hub, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	return &Hub{opts: opts, log: opts.Logger, conns: make(map[string]*conn), clients: make(map[*conn]transport)}, nil
}

// Broadcast invokes the method target on all connected clients. It never waits for one. An argument
// that encoding/json cannot encode is [ErrNotEncodable], and nothing is sent. After Close it does nothing.
func (h *Hub) Broadcast(target string, args ...any) error {
	if args == nil {
		args = []any{}
	}
	record, err := encode(invocation{Type: typeInvocation, Target: target, Arguments: args})
	if err != nil {
		return ErrNotEncodable.On("target", target).Wrap(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Broadcasts++
	for c := range h.clients {
		c.push(record)
	}
	return nil
}

// Stats gives the present figures.
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

// Close tells all clients to reconnect later, which they do when they are made to, and waits until
// what was queued for them is sent and they have gone. When ctx ends first they are cut, and the
// error is its cause. New clients are refused with 503 from the beginning on.
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

// open makes a connection that waits for its transport.
func (h *Hub) open() (*conn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrClosed
	case len(h.conns) >= h.opts.MaxConnections:
		h.stats.Refused++
		return nil, ErrFull
	}
	c := &conn{hub: h, id: rand.Text(), token: rand.Text(), wake: make(chan struct{}, 1)}
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

// find gives the connection of a token.
func (h *Hub) find(token string) (*conn, error) {
	if token == "" {
		return nil, ErrInvalidRequest.Because("id is required")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.conns[token]; ok {
		return c, nil
	}
	return nil, ErrConnectionNotFound
}

// admit makes a connection one that gets broadcasts.
func (h *Hub) admit(c *conn, t transport) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.ctx.Err() == nil { // else drop has been here, or will be
		h.clients[c] = t
	}
}

// drop forgets a connection that has ended.
func (h *Hub) drop(c *conn) {
	cause := context.Cause(c.ctx)
	h.mu.Lock()
	delete(h.conns, c.token)
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

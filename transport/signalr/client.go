package signalr

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Client is a connected client. Safe for concurrent use.
type Client struct{ conn *conn }

// Message is an invocation of a method of clients. It is encoded once, for however many clients get it. Safe for concurrent use.
type Message struct {
	text   []byte
	packed func() []byte
}

// NewMessage returns an invocation of the method target. If encoding/json cannot encode an argument, it returns [ErrNotEncodable].
func NewMessage(target string, args ...any) (*Message, error) {
	if args == nil {
		args = []any{}
	}
	text, err := encode(invocation{Type: typeInvocation, Target: target, Arguments: args})
	if err != nil {
		return nil, ErrNotEncodable.On("target", target).Wrap(err)
	}
	return &Message{text: text, packed: sync.OnceValue(func() []byte { return packInvocation(text) })}, nil
}

// record returns the message in a protocol.
func (m *Message) record(p protocol) []byte {
	if p == messagePack {
		return m.packed()
	}
	return m.text
}

// ID returns the id of the connection, which may be shown and logged.
func (c *Client) ID() string { return c.conn.id }

// Context returns a context that ends with the connection. Its cause is the reason.
func (c *Client) Context() context.Context { return c.conn.ctx }

// Send sends a message to this client. It does not wait: it cuts a client whose queue is full.
func (c *Client) Send(m *Message) {
	c.conn.mu.Lock()
	p := c.conn.protocol
	c.conn.mu.Unlock()
	c.conn.push(m.record(p))
}

// Queued returns how many bytes wait to be sent to the client. What is being written is not counted.
func (c *Client) Queued() int {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return c.conn.bytes
}

// WaitForRoom waits until at most so many bytes wait to be sent to the client. It returns the cause when ctx or the connection ends before.
func (c *Client) WaitForRoom(ctx context.Context, bytes int) error {
	if c.Queued() <= bytes && ctx.Err() == nil && c.conn.ctx.Err() == nil {
		return nil
	}
	ticker := time.NewTicker(roomInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.conn.ctx.Done():
			return context.Cause(c.conn.ctx)
		case <-ticker.C:
			if c.Queued() <= bytes {
				return nil
			}
		}
	}
}

var errDismissed = errors.New("the server has dismissed the client")

// Dismiss closes the connection when its queue is written, and asks the client to reconnect. reason is for people; it may be empty.
func (c *Client) Dismiss(reason string) { c.conn.end(reason, true, errDismissed) }

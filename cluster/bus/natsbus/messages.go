package natsbus

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/otkit/otkit/cluster/bus"
)

// Publish implements [bus.Bus].
func (b *Bus) Publish(subject string, data []byte) error {
	if err := b.ready(subject, data); err != nil {
		return err
	}
	return b.enqueue(message{subject: b.o.Prefix + ".m." + subject, data: bytes.Clone(data)})
}

// ready returns an error if a message cannot be sent.
func (b *Bus) ready(subject string, data []byte) error {
	switch err := bus.CheckMessage(subject, data); {
	case b.isClosed():
		return bus.ErrClosed
	case err != nil:
		return err
	case b.conn.Load() == nil:
		b.stateMu.Lock()
		defer b.stateMu.Unlock()
		return bus.ErrDown.Wrap(errors.New(b.problem))
	}
	return nil
}

// enqueue has a message sent. It does not wait: a connection that takes nothing blocks who writes to it.
func (b *Bus) enqueue(m message) error {
	size := int64(len(m.data))
	if b.bytes.Add(size) > maxQueuedBytes || !b.queue.Add(m) {
		b.bytes.Add(-size)
		if b.isClosed() {
			return bus.ErrClosed
		}
		return bus.ErrDown.Because("the server is slow, and too many messages wait")
	}
	return nil
}

// send sends what is queued, until the queue ends.
func (b *Bus) send() {
	defer close(b.sent)
	for {
		list, err := b.queue.Next(context.Background(), 0)
		if err != nil {
			return
		}
		for _, m := range list {
			if m.sent != nil {
				if nc := b.conn.Load(); nc != nil {
					_ = nc.FlushTimeout(b.o.Timeout) // what the connection has not taken is lost
				}
				close(m.sent)
				continue
			}
			b.bytes.Add(-int64(len(m.data)))
			if m.request != 0 && !b.requests.Waiting(m.request) {
				continue // its caller has given up
			}
			if err := b.write(m); err != nil && m.request != 0 {
				b.requests.End(m.request, nil, bus.ErrDown.Wrap(err))
			}
		}
	}
}

func (b *Bus) write(m message) error {
	nc := b.conn.Load()
	switch {
	case nc == nil:
		return nats.ErrConnectionClosed
	case m.request != 0:
		return nc.PublishRequest(m.subject, b.answers+strconv.FormatUint(m.request, 10), m.data)
	}
	return nc.Publish(m.subject, m.data)
}

// Subscribe implements [bus.Bus].
func (b *Bus) Subscribe(subject string, handle func([]byte)) (cancel func(), err error) {
	s, err := b.inbox.Subscribe(subject, handle)
	if err != nil {
		return nil, err
	}
	unbind := b.listen(&binding{subject: b.o.Prefix + ".m." + subject, handle: func(m *nats.Msg) { s.Deliver(m.Data) }})
	return func() {
		unbind()
		s.Cancel()
	}, nil
}

// listen subscribes on this connection and on later ones.
func (b *Bus) listen(s *binding) (unbind func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bindings[s] = struct{}{}
	if b.bound != nil {
		_ = s.bind(b.bound) // if it is closed, the next one has it
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if _, ok := b.bindings[s]; ok {
			delete(b.bindings, s)
			_ = s.sub.Unsubscribe() // of a closed connection nothing comes
		}
	}
}

// Request implements [bus.Bus].
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := bus.CheckMessage(subject, data); err != nil {
		return nil, err
	}
	data = bytes.Clone(data)
	return b.requests.Do(ctx, subject, func(id uint64) error {
		// What the engine itself serves does not come back from the server.
		if b.inbox.Request(subject, data, func(answer []byte) { b.requests.End(id, bytes.Clone(answer), nil) }) {
			return nil
		}
		if err := b.ready(subject, data); err != nil {
			return err
		}
		return b.enqueue(message{subject: b.o.Prefix + ".r." + subject, data: data, request: id})
	})
}

// answered takes the answer to a request.
func (b *Bus) answered(m *nats.Msg) {
	id, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, b.answers), 10, 64)
	switch {
	case err != nil:
	case len(m.Data) == 0 && m.Header.Get("Status") == "503": // from the server
		b.requests.End(id, nil, bus.ErrNoAnswer)
	default:
		b.requests.End(id, m.Data, nil)
	}
}

// Serve implements [bus.Bus].
func (b *Bus) Serve(subject string, handle func(context.Context, []byte) []byte) (cancel func(), err error) {
	stop, err := b.inbox.Serve(subject, handle)
	if err != nil {
		return nil, err
	}
	// Should two engines serve a subject for a moment, the queue group lets one of them have a request.
	unbind := b.listen(&binding{subject: b.o.Prefix + ".r." + subject, queue: "otkit", handle: func(m *nats.Msg) {
		b.inbox.Request(subject, m.Data, func(answer []byte) {
			_ = b.enqueue(message{subject: m.Reply, data: bytes.Clone(answer)}) // if it cannot be sent, nobody waits for it for long
		})
	}})
	return func() {
		unbind()
		stop()
	}, nil
}

// Close implements [bus.Bus].
func (b *Bus) Close(ctx context.Context) error {
	b.once.Do(func() {
		close(b.closed)
		b.requests.Close()
	})
	err := b.inbox.Close(ctx)
	sent := make(chan struct{})
	if err == nil && b.queue.Add(message{sent: sent}) { // after the last answers
		select {
		case <-sent:
		case <-b.sent:
		case <-ctx.Done():
		}
	}
	b.queue.End(bus.ErrClosed)
	b.stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.loops.Wait()
	}()
	select {
	case <-ended:
		b.down(bus.ErrClosed)
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

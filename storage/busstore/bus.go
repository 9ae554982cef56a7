package busstore

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/storage"
)

// Bus is a [bus.Bus] over a PostgreSQL. Make it with [New]. Safe for concurrent use.
type Bus struct {
	o        Options
	set      *storage.Set
	id       string // of this session
	inbox    bus.Inbox
	requests bus.Requests
	queue    *wake.Queue[message]
	bytes    atomic.Int64 // of what is queued
	clock    clock

	stop  context.CancelFunc // of the loops
	loops sync.WaitGroup
	sent  chan struct{} // closed when send has ended
	once  sync.Once

	mu       sync.Mutex
	closed   bool
	interest map[string]int   // how often a subject is subscribed to or served, with its kind
	news     map[string]int64 // newest numbers of sessions of which notifications came
	wake     wake.Signal      // of news

	stateMu  sync.Mutex
	reading  error // why the last attempt to read failed
	writing  error // the same of writing
	since    time.Time
	notified bool // notifications pass
	missed   bool // some may not have
}

var _ bus.Bus = (*Bus)(nil)

// Subjects in the database begin with what a message is.
const (
	kindMessage = "m."
	kindRequest = "r."
	kindAnswer  = "a." // followed by the session of whom it is for
)

// message is what waits to be written.
type message struct {
	subject string
	request uint64
	expires time.Time // of a request
	data    []byte
	written chan struct{} // instead of all else: closed when all before it has been written
}

// New joins the engines that share a database, which must be a PostgreSQL that was opened with [Schema]. If it cannot be reached, the bus is down until it can. It ends
// with the database, or with Close before.
func New(ctx context.Context, db *storage.DB, o Options) (*Bus, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	if db.Dialect() != "postgres" {
		return nil, storage.ErrOption.Because("engines share a PostgreSQL, not %s", db.Dialect())
	}
	o = o.withDefaults()
	b := &Bus{o: o, set: set, id: o.NewID(), queue: wake.NewQueue[message](maxQueued), interest: map[string]int{}, news: map[string]int64{},
		wake: wake.NewSignal(), reading: errStarting, writing: errStarting, since: o.Now(), sent: make(chan struct{})}
	b.interest[kindAnswer+b.id] = 1
	r := &reader{b: b, sessions: map[string]*session{}}
	r.look(ctx)
	b.write(ctx, nil)
	running, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.loops.Go(func() { r.run(running) })
	b.loops.Go(func() {
		defer close(b.sent)
		b.send(running)
	})
	b.loops.Go(func() { b.listen(running) })
	db.OnClose(func() { b.end() })
	return b, nil
}

// Publish implements [bus.Bus].
func (b *Bus) Publish(subject string, data []byte) error {
	if err := b.ready(subject, data); err != nil {
		return err
	}
	return b.enqueue(message{subject: kindMessage + subject, data: bytes.Clone(data)})
}

// ready returns an error if a message cannot be sent.
func (b *Bus) ready(subject string, data []byte) error {
	if b.isClosed() {
		return bus.ErrClosed
	}
	if err := bus.CheckMessage(subject, data); err != nil {
		return err
	}
	if err := b.problem(); err != nil {
		return bus.ErrDown.Wrap(err)
	}
	return nil
}

func (b *Bus) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// enqueue has a message written. It does not wait.
func (b *Bus) enqueue(m message) error {
	size := int64(len(m.data))
	if b.bytes.Add(size) > maxQueuedBytes || !b.queue.Add(m) {
		b.bytes.Add(-size)
		if b.isClosed() {
			return bus.ErrClosed
		}
		return bus.ErrDown.Because("the database is slow, and too many messages wait")
	}
	return nil
}

// Subscribe implements [bus.Bus].
func (b *Bus) Subscribe(subject string, handle func([]byte)) (cancel func(), err error) {
	s, err := b.inbox.Subscribe(subject, handle)
	if err != nil {
		return nil, err
	}
	end := b.want(kindMessage + subject)
	return func() {
		end()
		s.Cancel()
	}, nil
}

// Serve implements [bus.Bus].
func (b *Bus) Serve(subject string, handle func(context.Context, []byte) []byte) (cancel func(), err error) {
	stop, err := b.inbox.Serve(subject, handle)
	if err != nil {
		return nil, err
	}
	end := b.want(kindRequest + subject)
	return func() {
		end()
		stop()
	}, nil
}

// want has the messages of a subject read, until end is called.
func (b *Bus) want(subject string) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.interest[subject]++
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.interest[subject]--; b.interest[subject] == 0 {
			delete(b.interest, subject)
		}
	})
}

// Request implements [bus.Bus].
func (b *Bus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if err := bus.CheckMessage(subject, data); err != nil {
		return nil, err
	}
	data = bytes.Clone(data)
	return b.requests.Do(ctx, subject, func(id uint64) error {
		// What the engine itself serves it does not read.
		if b.inbox.Request(subject, data, func(answer []byte) { b.requests.End(id, bytes.Clone(answer), nil) }) {
			return nil
		}
		if err := b.ready(subject, data); err != nil {
			return err
		}
		expires := time.Now().Add(maxRequest)
		if end, ok := ctx.Deadline(); ok && end.Before(expires) {
			expires = end
		}
		return b.enqueue(message{subject: kindRequest + subject, request: id, expires: expires, data: data})
	})
}

// Close implements [bus.Bus].
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.requests.Close()
	err := b.inbox.Close(ctx)
	written := make(chan struct{})
	if err == nil && b.queue.Add(message{written: written}) { // after the last answers
		select {
		case <-written:
		case <-b.sent:
		case <-ctx.Done():
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.end()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}

// end stops the loops and waits for them.
func (b *Bus) end() {
	b.once.Do(func() {
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		b.queue.End(bus.ErrClosed)
		b.stop()
	})
	b.loops.Wait()
	b.failed(&b.reading, bus.ErrClosed)
}

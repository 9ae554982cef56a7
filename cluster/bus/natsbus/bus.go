package natsbus

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/internal/wake"
)

// What may wait to be sent. While more would, Publish and Request return bus.ErrDown.
const (
	maxQueued      = 1 << 16
	maxQueuedBytes = 16 << 20
)

// Bus is a [bus.Bus] over NATS. Make it with [Connect]. Safe for concurrent use.
type Bus struct {
	o        Options
	answers  string // prefix of the subjects of answers to this engine
	inbox    bus.Inbox
	requests bus.Requests
	queue    *wake.Queue[message]
	bytes    atomic.Int64              // of what is queued
	conn     atomic.Pointer[nats.Conn] // nil while it is not connected

	stop   context.CancelFunc // of the loops
	loops  sync.WaitGroup
	sent   chan struct{} // closed when send has ended
	once   sync.Once
	closed chan struct{} // closed when Close has been called

	mu       sync.Mutex
	bound    *nats.Conn // has the bindings; may be closed; nil before the first
	bindings map[*binding]struct{}

	stateMu  sync.Mutex
	since    time.Time
	problem  string // why it is not up
	violated string // the last permission that was missing
}

var _ bus.Bus = (*Bus)(nil)

// message is what waits to be sent.
type message struct {
	subject string
	data    []byte
	request uint64        // its number, if it is a request
	sent    chan struct{} // instead of all else: closed when all before it has been sent
}

// binding is a subscription, which is made again on each connection.
type binding struct {
	subject, queue string
	handle         nats.MsgHandler
	sub            *nats.Subscription
}

// Connect connects to NATS, and again whenever the connection is lost. It returns an error if the options are wrong, and [ErrRefused] if a server answers and
// refuses the engine. If no server can be reached, it returns a bus that is down until one can.
func Connect(ctx context.Context, o Options) (*Bus, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Bus{o: o, answers: o.Prefix + ".a." + nuid.Next() + ".", queue: wake.NewQueue[message](maxQueued), closed: make(chan struct{}), sent: make(chan struct{}),
		bindings: map[*binding]struct{}{}, since: o.Now()}
	b.bindings[&binding{subject: b.answers + "*", handle: b.answered}] = struct{}{}
	lost, err := b.connect()
	switch {
	case ctx.Err() != nil:
		b.disconnect()
		return nil, context.Cause(ctx)
	case err != nil && !unreachable(err):
		if !errors.Is(err, ErrRefused) {
			err = ErrRefused.Wrap(err)
		}
		return nil, err
	case err != nil:
		b.down(err)
	}
	running, stop := context.WithCancel(context.Background())
	b.stop = stop
	b.loops.Go(func() { b.keep(running, lost) })
	b.loops.Go(b.send)
	return b, nil
}

// steady is how long a connection must have lasted for the next attempt to come soon: a server may take connections and drop them again and again.
const steady = 5 * time.Second

// keep keeps the bus connected. lost is closed when the present connection is lost; nil if there is none.
func (b *Bus) keep(ctx context.Context, lost <-chan struct{}) {
	defer b.disconnect()
	for failures := 0; ; {
		if lost != nil {
			began := time.Now()
			select {
			case <-lost:
			case <-ctx.Done():
				return
			}
			if time.Since(began) >= steady {
				failures = 0
			}
		}
		failures++
		if !backoff.Wait(ctx, backoff.Jitter(backoff.Delay(100*time.Millisecond, 2*time.Second, failures))) {
			return
		}
		var err error
		if lost, err = b.connect(); err != nil {
			b.down(err)
		}
	}
}

// connect connects once and returns a channel that is closed when the connection is lost.
func (b *Bus) connect() (<-chan struct{}, error) {
	lost := make(chan struct{})
	nc, err := b.o.connect(func(nc *nats.Conn) {
		if b.conn.CompareAndSwap(nc, nil) {
			b.down(nc.LastError())
		}
		close(lost)
	}, b.failed)
	if err != nil {
		return nil, err
	}
	if err = b.bind(nc); err == nil {
		err = b.check(nc)
	}
	if err != nil {
		nc.Close()
		<-lost
		return nil, err
	}
	b.conn.Store(nc)
	b.up(nc)
	if nc.IsClosed() && b.conn.CompareAndSwap(nc, nil) { // it was lost before it was stored
		b.down(nc.LastError())
	}
	return lost, nil
}

// bind subscribes to everything on a connection.
func (b *Bus) bind(nc *nats.Conn) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bound = nc
	for s := range b.bindings {
		if err := s.bind(nc); err != nil {
			return err
		}
	}
	return nil
}

func (s *binding) bind(nc *nats.Conn) (err error) {
	if s.queue != "" {
		s.sub, err = nc.QueueSubscribe(s.subject, s.queue, s.handle)
	} else {
		s.sub, err = nc.Subscribe(s.subject, s.handle)
	}
	return err
}

func (b *Bus) disconnect() {
	if nc := b.conn.Load(); nc != nil {
		nc.Close()
	}
}

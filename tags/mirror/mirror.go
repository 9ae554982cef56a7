package mirror

import (
	"cmp"
	"context"
	"encoding/hex"
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Options configure a Mirror. Engine and Owner are required.
type Options struct {
	Engine string // id of this engine
	Name   string // of this engine, for tags.DriverStatus; default: the id
	// Owner returns the id of the engine that runs a driver; ok is false if none is known.
	Owner func(driver string) (engine string, ok bool)
	// Others reports whether there are other engines. While there are none, nothing is published. Default: there are.
	Others func() bool

	Interval  time.Duration // least time between two messages about a tag; default 50 ms
	Heartbeat time.Duration // between two reports on a driver; default 1 s
	Timeout   time.Duration // of silence after which values are doubted; default 3 s

	Logger *slog.Logger // default: discards
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Engine == "":
		return o, fault.Option("mirror", "Options.Engine", "is required")
	case o.Owner == nil:
		return o, fault.Option("mirror", "Options.Owner", "is required")
	case o.Interval < 0:
		return o, fault.Option("mirror", "Options.Interval", "must not be negative, not %s", o.Interval)
	case o.Heartbeat < 0:
		return o, fault.Option("mirror", "Options.Heartbeat", "must not be negative, not %s", o.Heartbeat)
	case o.Timeout < 0:
		return o, fault.Option("mirror", "Options.Timeout", "must not be negative, not %s", o.Timeout)
	}
	o.Name = cmp.Or(o.Name, o.Engine)
	o.Interval = cmp.Or(o.Interval, 50*time.Millisecond)
	o.Heartbeat, o.Timeout = cmp.Or(o.Heartbeat, time.Second), cmp.Or(o.Timeout, 3*time.Second)
	if o.Others == nil {
		o.Others = func() bool { return true }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Mirror connects a tag engine with a bus. Make it with New. Safe for concurrent use. Close must be called.
type Mirror struct {
	engine *tags.Engine
	bus    bus.Bus
	opts   Options
	made   time.Time

	cancels []func() // of the bus and of the engine
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	owned map[string]*publisher // drivers that are run here
	heard map[string]*source    // drivers, by what was heard of them
	alone bool                  // there were no others when publish looked last

	receiving sync.Mutex // held while a message is taken over; guards names and scratch; taken before mu
	names     map[string]string
	scratch   []tags.RemoteSample
}

// The subjects of messages.
const (
	subjectValues = "tags.values"
	subjectResend = "tags.resend"
	subjectWrite  = "tags.write."
)

// New returns a mirror of an engine with tags.Options.Shared. Give what it returns the writes of the engine, see [Mirror.Write].
func New(e *tags.Engine, b bus.Bus, o Options) (*Mirror, error) {
	switch {
	case e == nil:
		return nil, fault.Option("mirror", "engine", "is required")
	case b == nil:
		return nil, fault.Option("mirror", "bus", "is required")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Mirror{engine: e, bus: b, opts: o, made: time.Now(), owned: map[string]*publisher{}, heard: map[string]*source{}, names: map[string]string{}}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop = cancel
	m.cancels = append(m.cancels, e.Observe(m.observe))
	for _, join := range []func() (func(), error){
		func() (func(), error) { return b.Subscribe(subjectValues, m.receive) },
		func() (func(), error) { return b.Subscribe(subjectResend, m.resend) },
		func() (func(), error) { return b.Serve(subjectWrite+token(o.Engine), m.serveWrites) },
	} {
		leave, err := join()
		if err != nil {
			m.Close()
			return nil, err
		}
		m.cancels = append(m.cancels, leave)
	}
	m.running.Go(func() { m.publish(ctx) })
	m.running.Go(func() { m.watch(ctx) })
	return m, nil
}

// Close ends the mirror and waits for what it does. Calling it again is safe.
func (m *Mirror) Close() {
	m.mu.Lock()
	cancels := m.cancels
	m.cancels = nil
	m.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	m.stop()
	m.running.Wait()
}

// token returns an id as a token of a subject.
func token(id string) string { return hex.EncodeToString([]byte(id)) }

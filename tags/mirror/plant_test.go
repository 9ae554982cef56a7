package mirror_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/mirror"
)

// device is the one device of the plant, which every engine has a driver for.
type device struct {
	mu       sync.Mutex
	values   map[string]tags.Value
	readings map[string]tags.Reading // instead of values
	wrote    []tags.Value
	fails    bool
}

func (d *device) Connect(context.Context) error { return nil }
func (d *device) Close() error                  { return nil }

func (d *device) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range points {
		out[i] = tags.Reading{Value: d.values[p.Address], Quality: tags.Good}
		if r, ok := d.readings[p.Address]; ok {
			out[i] = r
		}
		if d.fails {
			out[i] = tags.Reading{Err: errors.New("it is broken")}
		}
	}
	return nil
}

func (d *device) Write(_ context.Context, items []tags.WriteItem, _ []error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, item := range items {
		d.values[item.Point.Address] = item.Value
		d.wrote = append(d.wrote, item.Value)
	}
	return nil
}

func (d *device) written() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.wrote)
}

func (d *device) set(address string, v tags.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[address] = v
}

// read has the device answer with a reading.
func (d *device) read(address string, r tags.Reading) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.readings == nil {
		d.readings = map[string]tags.Reading{}
	}
	d.readings[address] = r
}

// lossy is a bus that loses messages.
type lossy struct {
	bus.Bus
	lose func() bool
	down atomic.Bool
	hold atomic.Int64 // how long a request is on its way
}

func (l *lossy) Publish(subject string, data []byte) error {
	switch {
	case l.down.Load():
		return bus.ErrDown
	case l.lose():
		return nil
	}
	return l.Bus.Publish(subject, data)
}

func (l *lossy) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if l.down.Load() {
		return nil, bus.ErrDown
	}
	if d := time.Duration(l.hold.Load()); d > 0 { // and arrives, whether or not somebody waits for the answer
		time.Sleep(d)
		answer, err := l.Bus.Request(context.WithoutCancel(ctx), subject, data)
		return answer, errors.Join(err, ctx.Err())
	}
	return l.Bus.Request(ctx, subject, data)
}

// plant is engines that share the driver "plc".
type plant struct {
	t      *testing.T
	net    *bus.Memory
	device *device
	writes *tags.MemoryWriteLog // as the engines share it
	lose   func() bool
	alone  atomic.Bool // engines see no others

	mu    sync.Mutex
	owner string
	epoch uint64
}

type engine struct {
	*tags.Engine
	p      *plant
	name   string
	mirror *mirror.Mirror
	bus    *lossy
}

func newPlant(t *testing.T) *plant {
	return &plant{t: t, net: bus.NewMemory(), writes: tags.NewMemoryWriteLog(100_000), lose: func() bool { return false },
		device: &device{values: map[string]tags.Value{"a": tags.IntValue(1), "b": tags.FloatValue(2.5), "c": tags.StringValue("x"), "d": tags.BytesValue([]byte{0, 255}), "e": tags.BoolValue(true)}}}
}

func (p *plant) start(name string) *engine {
	e := &engine{p: p, name: name, bus: &lossy{Bus: p.net.Join(), lose: p.lose}}
	var err error
	e.Engine, err = tags.New(tags.Options{Writes: p.writes, Shared: &tags.Shared{
		Write: func(ctx context.Context, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
			return e.mirror.Write(ctx, driver, requests)
		}}})
	require.NoError(p.t, err)
	e.mirror, err = mirror.New(e.Engine, e.bus, mirror.Options{Engine: name, Name: "Engine " + name, Owner: func(string) (string, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.owner, p.owner != ""
	}, Others: func() bool { return !p.alone.Load() }})
	require.NoError(p.t, err)
	rw := func(name string, kind tags.DataType) tags.Tag {
		return tags.Tag{Name: "plc." + name, Address: name, DataType: kind, Access: tags.ReadWrite}
	}
	require.NoError(p.t, e.AddDriver("plc", p.device, tags.DriverOptions{Type: "Fake", PollInterval: 100 * time.Millisecond,
		Tags: []tags.Tag{rw("a", tags.Int), rw("b", tags.Float), rw("c", tags.String), rw("d", tags.Bytes), rw("e", tags.Bool)}}))
	return e
}

// run runs the driver on an engine until stop is called.
func (e *engine) run() (stop func()) {
	e.p.mu.Lock()
	e.p.owner, e.p.epoch = e.name, e.p.epoch+1
	e.p.mu.Unlock()
	return e.resume()
}

// resume runs the driver again under the lease that the engine has had.
func (e *engine) resume() (stop func()) {
	e.p.mu.Lock()
	epoch := e.p.epoch
	e.p.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	end := e.mirror.Begin("plc", epoch)
	ended := make(chan error, 1)
	go func() { ended <- e.RunDriver(ctx, "plc", func() bool { return true }) }()
	return func() {
		cancel()
		require.NoError(e.p.t, <-ended)
		end()
	}
}

func (e *engine) close() {
	e.mirror.Close()
	require.NoError(e.p.t, e.bus.Close(context.Background()))
	require.NoError(e.p.t, e.Close(context.Background()))
}

func (e *engine) value(tag string) tags.Sample {
	s, err := e.Read(tag)
	require.NoError(e.p.t, err)
	return s.Sample
}

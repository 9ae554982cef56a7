package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// device is a driver whose values come from the test, and which notes what is written.
type device struct {
	mu      sync.Mutex
	emit    func(i int, r tags.Reading)
	points  map[string]int
	away    bool
	mute    bool // takes connections, and does not answer
	last    map[string]tags.Reading
	broken  chan struct{} // closed to end Subscribe
	written []tags.Value
	fail    error
	slow    time.Duration // of each Write
}

func (d *device) Connect(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mute {
		<-ctx.Done()
	}
	if d.away {
		return errors.New("no cable")
	}
	return nil
}

// Read returns what the device has reported last.
func (d *device) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range points {
		out[i] = d.last[p.Address]
	}
	return nil
}

func (d *device) Write(_ context.Context, items []tags.WriteItem, errs []error) error {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, item := range items {
		if errs[i] = d.fail; d.fail == nil {
			d.written = append(d.written, item.Value)
		}
	}
	return nil
}

func (d *device) Close() error { return nil }

func (d *device) Browse(context.Context) ([]tags.Tag, error) {
	return []tags.Tag{{Name: "new", Address: "n1", DataType: tags.Float, Access: tags.ReadOnly}}, nil
}

func (d *device) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	d.mu.Lock()
	d.points, d.emit, d.broken = make(map[string]int, len(points)), emit, make(chan struct{})
	for i, p := range points {
		d.points[p.Address] = i
	}
	broken := d.broken
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.emit = nil
		d.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-broken:
		return tags.ErrNotConnected
	}
}

// set lets the device report a value.
func (d *device) set(address string, v tags.Value) {
	d.report(address, tags.Reading{Value: v, Quality: tags.Good})
}

func (d *device) report(address string, r tags.Reading) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[address] = r
	if d.emit == nil {
		return
	}
	if i, ok := d.points[address]; ok {
		d.emit(i, r)
	}
}

// unplug takes the cable out, and plug puts it back.
func (d *device) unplug() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = true
	close(d.broken)
}

func (d *device) plug() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = false
}

// writes returns what was written.
func (d *device) writes() []tags.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]tags.Value(nil), d.written...)
}

// plant returns a tag engine with a device of so many tags: press.t0 at address a0 and so on.
func plant(t testing.TB, count int) (*tags.Engine, *device) {
	t.Helper()
	d := &device{last: map[string]tags.Reading{}}
	return plantOf(t, d, count), d
}

func plantOf(t testing.TB, d *device, count int) *tags.Engine {
	t.Helper()
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close(context.Background())) })
	list := make([]tags.Tag, count)
	for i := range list {
		list[i] = tags.Tag{Name: fmt.Sprintf("press.t%d", i), Address: fmt.Sprintf("a%d", i), DataType: tags.Int, Access: tags.ReadWrite,
			Min: tags.Ptr(-1e9), Max: tags.Ptr(1e9)}
	}
	require.NoError(t, e.AddDriver("press", d, tags.DriverOptions{Type: "Test", Tags: list}))
	return e
}

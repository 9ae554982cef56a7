package devicetags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/tags"
)

// DriverID is the id under which a tag engine has the driver. The names of the tags begin with it.
const DriverID = "devices"

// Source has the devices. A devices.Service is a Source.
type Source interface {
	// List returns all devices.
	List() []devices.Device
	// Changes waits for devices that have changed after a position and returns them with the next position; position 0
	// returns all devices. It returns the cause of ctx when ctx ends.
	Changes(ctx context.Context, after uint64) ([]devices.Device, uint64, error)
}

// Options configure a [Driver]. The zero value works.
type Options struct {
	// Interval is how often changes are taken over, at most. Default 1 s, as drivers are polled.
	Interval time.Duration
	// SilentAfter is how long a device may be silent before its tags are Bad, if its state is not Offline before. Default 30 s.
	SilentAfter time.Duration
	Now         func() time.Time // default: time.Now
}

// Driver is a tags.Driver whose points are members of devices. As with every driver, Connect, Read, Write and Close are for one
// goroutine; the other methods may be called from any.
type Driver struct {
	source    Source
	opts      Options
	connected atomic.Bool

	mu     sync.Mutex
	latest map[string]devices.Device // as the subscription has them; nil while there is none
}

// New returns a driver that is not connected. source is required.
func New(source Source, o Options) (*Driver, error) {
	switch {
	case source == nil:
		return nil, errors.New("devicetags: New: source is required")
	case o.Interval < 0:
		return nil, fmt.Errorf("devicetags: Options.Interval must not be negative, not %v", o.Interval)
	case o.SilentAfter < 0:
		return nil, fmt.Errorf("devicetags: Options.SilentAfter must not be negative, not %v", o.SilentAfter)
	}
	o.Interval, o.SilentAfter = cmp.Or(o.Interval, time.Second), cmp.Or(o.SilentAfter, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Driver{source: source, opts: o}, nil
}

// Connect implements tags.Driver.
func (d *Driver) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.connected.Store(true)
	return nil
}

// Close implements tags.Driver.
func (d *Driver) Close() error {
	d.connected.Store(false)
	return nil
}

// MaxBatch lets the engine read all points at once, because the devices are listed for each call.
func (d *Driver) MaxBatch() int { return 1_000_000 }

// Read implements tags.Driver.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !d.connected.Load():
		return tags.ErrNotConnected
	}
	now := d.opts.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.latest // what Subscribe has emitted last must not be older than what is read
	if list == nil {
		list = make(map[string]devices.Device)
		for _, dev := range d.source.List() {
			list[dev.ID] = dev
		}
	}
	for i := range points {
		id, m := parse(points[i].Address)
		dev, ok := list[id]
		if m == nil || !ok {
			out[i].Err = tags.ErrNoSuchAddress
			continue
		}
		out[i] = d.reading(&dev, m, points[i].Type, now)
	}
	return nil
}

var (
	errSilent      = fmt.Errorf("the device is silent: %w", tags.ErrNotConnected)
	errNotReported = fmt.Errorf("the device does not report it: %w", tags.ErrDevice)
)

func (d *Driver) reading(dev *devices.Device, m *member, kind tags.DataType, now time.Time) tags.Reading {
	switch {
	case kind != m.kind:
		return tags.Reading{Err: tags.ErrType}
	case dev.State == devices.Decommissioned:
		return tags.Reading{Err: tags.ErrNoSuchAddress}
	case m.group == always:
		r := tags.Reading{Value: m.value(dev), Quality: tags.Good}
		if t := dev.Telemetry; t != nil && t.State == dev.State {
			r.Time = t.Time
		}
		return r
	case d.silent(dev, now):
		return tags.Reading{Err: errSilent}
	case m.group&groupsOf(dev) == 0:
		return tags.Reading{Err: errNotReported}
	}
	return tags.Reading{Value: m.value(dev), Quality: tags.Good, Time: dev.Telemetry.Time}
}

func (d *Driver) silent(dev *devices.Device, now time.Time) bool {
	return dev.Unheard || dev.State == devices.Offline || dev.State == devices.Provisioned || dev.Telemetry == nil || now.Sub(dev.Telemetry.Received) > d.opts.SilentAfter
}

// Write implements tags.Driver: the tags are read-only.
func (d *Driver) Write(_ context.Context, _ []tags.WriteItem, errs []error) error {
	if !d.connected.Load() {
		return tags.ErrNotConnected
	}
	for i := range errs {
		errs[i] = fmt.Errorf("%w: the point is read-only", tags.ErrDevice)
	}
	return nil
}

// ValidatePoint implements tags.PointValidator. The device need not exist yet.
func (d *Driver) ValidatePoint(p tags.Point) error {
	switch _, m := parse(p.Address); {
	case m == nil:
		return fmt.Errorf("%w: %q is not <deviceId>.<member>", tags.ErrNoSuchAddress, p.Address)
	case p.Type != m.kind:
		return fmt.Errorf("%w: %q is of type %s", tags.ErrType, p.Address, m.kind)
	}
	return nil
}

// Browse implements tags.Browser.
func (d *Driver) Browse(ctx context.Context) (list []tags.Tag, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, dev := range d.source.List() {
		list = append(list, Tags(dev)...)
	}
	for i := range list {
		list[i].Name = list[i].Address
	}
	return list, nil
}

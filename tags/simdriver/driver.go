package simdriver

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/tags"
)

// Driver is the simulation. As with every driver, Connect, Read, Write and Close are for one goroutine;
// Browse, ValidatePoint, ValueAt and Failures may be called from any.
type Driver struct {
	opts    Options
	period  float64 // of generated signals, seconds
	signals map[string]*signal
	follows map[string][]*follower // by the name of the leader, for leaders that can be written

	connected bool
	cycle     int64                 // number of the cycle of Faults.Disconnect in which it was connected
	written   map[string]tags.Value // what was written to signals of shape Hold; outlives Close
	followers map[*signal]*follower
}

// follower is how far a signal has come on its way to a leader that was written.
type follower struct {
	signal *signal
	base   float64 // its number at from
	from   float64 // seconds
}

// moment is a time since Start, in whole steps.
type moment struct {
	step    int64
	seconds float64
}

// New makes a driver that is not connected. The error is a driverconfig.ErrInvalid that names each bad
// option.
func New(opts Options) (*Driver, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	opts.Scenario, _ = ParseScenario(string(opts.Scenario)) // known by check
	d := &Driver{
		opts:      opts,
		period:    periodOf(opts.Scenario, opts.Period, opts.UpdateInterval),
		signals:   make(map[string]*signal, len(opts.Signals)),
		follows:   make(map[string][]*follower),
		written:   make(map[string]tags.Value),
		followers: make(map[*signal]*follower),
	}
	for _, s := range opts.Signals {
		made := d.named(s)
		d.signals[s.Name] = &made
	}
	for _, s := range d.signals {
		if s.shape == Follow && d.signals[s.leader].shape == Hold {
			base, _ := d.signals[s.leader].initial.Float()
			f := &follower{signal: s, base: base, from: math.Inf(-1)}
			d.followers[s] = f
			d.follows[s.leader] = append(d.follows[s.leader], f)
		}
	}
	return d, nil
}

// Connect fails while the fault Disconnect is on, and waits for its context while Freeze is.
func (d *Driver) Connect(ctx context.Context) error {
	d.connected = false
	if err := ctx.Err(); err != nil {
		return err
	}
	now := d.since(d.opts.Now())
	if d.opts.Faults.Disconnect.open(now) {
		return fmt.Errorf("the simulated device cannot be reached: %w", tags.ErrNotConnected)
	}
	if err := d.frozen(ctx, now); err != nil {
		return err
	}
	d.connected, d.cycle = true, d.opts.Faults.Disconnect.number(now)
	return nil
}

// Close closes the connection. What was written stays, as it would in a device.
func (d *Driver) Close() error {
	d.connected = false
	return nil
}

// ready reports whether the device answers at this time.
func (d *Driver) ready(ctx context.Context, now time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := d.opts.Faults.Disconnect
	if w.open(now) || w.number(now) != d.cycle {
		d.connected = false
	}
	if !d.connected {
		return tags.ErrNotConnected
	}
	return d.frozen(ctx, now)
}

func (d *Driver) frozen(ctx context.Context, now time.Duration) error {
	if !d.opts.Faults.Freeze.open(now) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// Read computes the values of the points at this time.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	now := d.since(d.opts.Now())
	if err := d.ready(ctx, now); err != nil {
		return err
	}
	at := d.moment(now)
	stuck := d.moment(d.opts.Faults.Stuck.Window.opened(now))
	stamp := d.opts.Start.Add(time.Duration(at.step) * d.opts.UpdateInterval)
	faults := d.opts.Faults.at(now)
	var generated signal
	for i := range points {
		p, r := &points[i], &out[i]
		s := d.find(p.Address, &generated)
		if s == nil {
			r.Err = tags.ErrNoSuchAddress
			continue
		}
		if faults.err > 0 && unit(s.key+2, at.step) < faults.err {
			r.Err = tags.ErrDevice
			continue
		}
		when := at
		if faults.stuck > 0 && unit(s.key, 3) < faults.stuck {
			when = stuck
		}
		v, err := d.live(p.Address, s, when).Convert(p.Type)
		if err != nil {
			r.Err = tags.ErrType
			continue
		}
		r.Value, r.Quality, r.Time = v, tags.Good, stamp
		if faults.uncertain > 0 && unit(s.key, 4) < faults.uncertain {
			r.Quality = tags.Uncertain
		}
	}
	return nil
}

// MaxBatch lets the engine read many points at once, because each costs so little.
func (d *Driver) MaxBatch() int { return 10_000 }

// Write keeps values of signals of shape Hold with access ReadWrite.
func (d *Driver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	now := d.since(d.opts.Now())
	if err := d.ready(ctx, now); err != nil {
		return err
	}
	for i, item := range items {
		errs[i] = d.write(item, d.moment(now))
	}
	return nil
}

func (d *Driver) write(item tags.WriteItem, at moment) error {
	var generated signal
	name := item.Point.Address
	s := d.find(name, &generated)
	switch {
	case s == nil:
		return tags.ErrNoSuchAddress
	case !s.writable:
		return fmt.Errorf("%w: the point is read-only", tags.ErrDevice)
	}
	v, err := item.Value.Convert(s.kind)
	if err != nil {
		return fmt.Errorf("%w: %w", tags.ErrType, err)
	}
	for _, f := range d.follows[name] {
		f.base, f.from = d.followed(f, at.seconds), at.seconds
	}
	d.written[name] = v
	return nil
}

// Browse lists all signals.
func (d *Driver) Browse(ctx context.Context) ([]tags.Tag, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := make([]tags.Tag, 0, len(d.opts.Signals)+d.opts.DeviceCount*d.opts.TagsPerDevice)
	for _, s := range d.opts.Signals {
		t := tags.Tag{
			Name: s.Name, Address: s.Name, DataType: s.Type, Access: s.Access, Unit: s.Unit, Description: s.Description,
			PollInterval: d.opts.UpdateInterval,
		}
		if t.Access == "" {
			t.Access = tags.ReadOnly
		}
		if (s.Type == tags.Int || s.Type == tags.Float) && s.Min < s.Max {
			t.Min, t.Max = tags.Ptr(s.Min), tags.Ptr(s.Max)
		}
		list = append(list, t)
	}
	least, most := tags.Ptr(0), tags.Ptr(100)
	for device := range d.opts.DeviceCount {
		for tag := range d.opts.TagsPerDevice {
			name := generatedName(device+1, tag+1)
			s := d.generated(device+1, tag+1)
			t := tags.Tag{Name: name, Address: name, DataType: s.kind, Access: tags.ReadOnly, PollInterval: d.opts.UpdateInterval}
			if s.writable {
				t.Access = tags.ReadWrite
			}
			if s.kind == tags.Int || s.kind == tags.Float {
				t.Min, t.Max = least, most
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// ValidatePoint knows every signal: the error is tags.ErrNoSuchAddress, or tags.ErrType for a type that
// the signal's values cannot always be given as.
func (d *Driver) ValidatePoint(p tags.Point) error {
	var generated signal
	s := d.find(p.Address, &generated)
	switch {
	case s == nil:
		return fmt.Errorf("%w: %q", tags.ErrNoSuchAddress, p.Address)
	case p.Type != s.kind && !(s.kind == tags.Int && p.Type == tags.Float):
		return fmt.Errorf("%w: %q is of type %s", tags.ErrType, p.Address, s.kind)
	}
	return nil
}

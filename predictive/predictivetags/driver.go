package predictivetags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/tags"
)

// DriverID is the id under which a tag engine has the driver. The names of the tags begin with it.
const DriverID = "predictive"

// Source has results. A monitor.Latest is a Source.
type Source interface {
	// Changes returns the results that are newer than a position and the next position, or the results of all targets with all set:
	// for position 0, and when a target was removed. It does not wait.
	Changes(after uint64) (list []monitor.Result, all bool, next uint64)
}

// Options configure a [Driver]. The zero value works.
type Options struct {
	// Interval is how often results are taken over. Default: 1 second, as drivers are polled.
	Interval time.Duration
	// StaleAfter is the age from which a result is Bad. Default: 1 hour, four intervals of a monitor.
	StaleAfter time.Duration
	// Period returns how far apart the results of a target are at present; see monitor.Monitor.Period. A result is not Bad before four of them
	// have passed. Default: only StaleAfter counts.
	Period func() time.Duration
	// Last returns the last sample of a tag, such as one of the engine that ran the driver before, and reports whether there is one. While there is no
	// result for a target yet, its tags are read as that. Default: they cannot be read until then.
	Last func(tag string) (tags.Sample, bool)
	Now  func() time.Time // default: time.Now
}

// Driver is a tags.Driver whose points are members of results. As with every driver, Connect, Read, Write and Close are for one
// goroutine; the other methods may be called from any.
type Driver struct {
	source    Source
	opts      Options
	connected atomic.Bool

	mu         sync.Mutex
	since      time.Time // of Connect
	position   uint64
	rows       map[place]row
	subscribed bool
}

// row is the newest result of a target.
type row struct {
	monitor.Result
	received time.Time
}

// New returns a driver that is not connected. source is required.
func New(source Source, o Options) (*Driver, error) {
	switch {
	case source == nil:
		return nil, errors.New("predictivetags: New: source is required")
	case o.Interval < 0:
		return nil, fmt.Errorf("predictivetags: Options.Interval must not be negative, not %v", o.Interval)
	case o.StaleAfter < 0:
		return nil, fmt.Errorf("predictivetags: Options.StaleAfter must not be negative, not %v", o.StaleAfter)
	}
	o.Interval, o.StaleAfter = cmp.Or(o.Interval, time.Second), cmp.Or(o.StaleAfter, time.Hour)
	if o.Period == nil {
		o.Period = func() time.Duration { return 0 }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Driver{source: source, opts: o, rows: make(map[place]row)}, nil
}

// Connect implements tags.Driver.
func (d *Driver) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	d.since = d.opts.Now()
	d.mu.Unlock()
	d.connected.Store(true)
	return nil
}

// Close implements tags.Driver.
func (d *Driver) Close() error {
	d.connected.Store(false)
	return nil
}

// MaxBatch lets the engine read all points in one call: they are in memory.
func (d *Driver) MaxBatch() int { return 1_000_000 }

// update takes over what has changed and returns its places. The caller holds the lock.
func (d *Driver) update(now time.Time) (changed []place) {
	list, all, next := d.source.Changes(d.position)
	d.position = next
	before := d.rows
	if all {
		d.rows = make(map[place]row, len(list))
	}
	for _, r := range list {
		at := placeOf(r.Target)
		if other, ok := d.rows[at]; ok && other.Compare(r.Target) < 0 {
			continue
		}
		received := now
		if old, ok := before[at]; ok && old.Target == r.Target && old.At.Equal(r.At) {
			received = old.received
		}
		d.rows[at] = row{r, received}
		changed = append(changed, at)
	}
	if all {
		for at := range before {
			if _, ok := d.rows[at]; !ok {
				changed = append(changed, at)
			}
		}
	}
	return changed
}

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
	if !d.subscribed { // what Subscribe has emitted last must not be older than what is read
		d.update(now)
	}
	for i := range points {
		out[i] = d.reading(points[i], now)
	}
	return nil
}

// reading returns the reading of a point. The caller holds the lock.
func (d *Driver) reading(p tags.Point, now time.Time) tags.Reading {
	places, list := parse(p.Address)
	for i, at := range places {
		if r, ok := d.rows[at]; ok {
			return d.readingOf(&r, list[i], p.Type, now)
		}
	}
	if len(list) > 0 && d.opts.Last != nil {
		return d.lastOf(p, now)
	}
	return tags.Reading{Err: tags.ErrNoSuchAddress}
}

// lastOf returns the reading of a point without a result. The caller holds the lock.
func (d *Driver) lastOf(p tags.Point, now time.Time) tags.Reading {
	s, ok := d.opts.Last(DriverID + "." + p.Address)
	switch {
	case !ok || s.Value.Type() != p.Type:
		return tags.Reading{Quality: tags.Bad, Reason: tags.ReasonWaiting}
	case d.stale(d.since, now):
		return tags.Reading{Value: s.Value, Quality: tags.Bad, Reason: tags.ReasonStale, Time: s.SourceTime}
	case s.Quality == tags.Uncertain && s.Reason == tags.ReasonEngine: // it was the engine that was lost
		s.Quality, s.Reason = tags.Good, 0
	}
	return tags.Reading{Value: s.Value, Quality: s.Quality, Reason: s.Reason, Time: s.SourceTime}
}

// stale reports whether a result that was received at a time is too old.
func (d *Driver) stale(received, now time.Time) bool {
	return now.Sub(received) > max(d.opts.StaleAfter, 4*d.opts.Period())
}

func (d *Driver) readingOf(r *row, m *member, kind tags.DataType, now time.Time) tags.Reading {
	switch {
	case kind != m.dataType:
		return tags.Reading{Err: tags.ErrType}
	case r.Err != nil:
		return tags.Reading{Err: errorOf(r.Err)}
	}
	out := tags.Reading{Value: m.value(r.Result), Quality: tags.Good, Time: r.At}
	switch {
	case d.stale(r.received, now):
		out.Quality, out.Reason = tags.Bad, tags.ReasonStale
	case m.name == failing && r.State == monitor.Unknown:
		out.Quality, out.Reason = tags.Uncertain, tags.ReasonWaiting
		if d.opts.Last == nil {
			break
		}
		if s, ok := d.opts.Last(DriverID + "." + placeOf(r.Target).name + "." + m.name); ok && s.Value.Type() == kind {
			out.Value = s.Value
		}
	}
	return out
}

// errorOf returns the error of a reading for that of a prediction.
func errorOf(err error) error {
	kind := tags.ErrDevice
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind = tags.ErrTimeout
	case errors.Is(err, predictive.ErrUnknownEquipment), errors.Is(err, predictive.ErrUnknownTag), errors.Is(err, predictive.ErrUnknownComponent):
		kind = tags.ErrNoSuchAddress
	case fault.KindOf(err) == fault.Internal && !errors.Is(err, predictive.ErrModelNotAvailable):
		kind = tags.ErrNotConnected
	}
	return fmt.Errorf("%w: %w", kind, err)
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

// ValidatePoint implements tags.PointValidator. The target need not exist yet.
func (d *Driver) ValidatePoint(p tags.Point) error {
	_, list := parse(p.Address)
	switch {
	case len(list) == 0:
		return fmt.Errorf("%w: %q is not <equipment>.<tag or component>.<member> or <tag>.<member>", tags.ErrNoSuchAddress, p.Address)
	case !slices.ContainsFunc(list, func(m *member) bool { return m.dataType == p.Type }):
		return fmt.Errorf("%w: %q is of type %s", tags.ErrType, p.Address, list[0].dataType)
	}
	return nil
}

// Browse implements tags.Browser.
func (d *Driver) Browse(ctx context.Context) (list []tags.Tag, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	results, _, _ := d.source.Changes(0)
	list = Tags(results)
	for i := range list {
		list[i].Name = list[i].Address
	}
	return list, nil
}

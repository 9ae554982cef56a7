package passive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Options describe the tags of a driver.
type Options struct {
	Tags []Tag
	Now  func() time.Time // default: time.Now
}

// Tag is a tag whose values are pushed.
type Tag struct {
	Name       string        // without the driver's prefix; required, unique
	Address    string        // by which items can name it as well; default: Name; unique
	Type       string        // see the package comment; required
	StaleAfter time.Duration // as of tags.Tag; 0 for never
}

// Driver takes values that equipment sends. It is a tags.Driver that is tags.Unpolled, and a tags.Browser. It is safe for
// concurrent use.
type Driver struct {
	now    func() time.Time
	all    []*point // in the order of Options.Tags
	byName map[string]*point
	byAddr map[string]*point

	mu        sync.Mutex
	connected bool
	subs      map[*subscription]struct{}
	listening chan struct{} // closed when a subscription begins
	last      time.Time
}

// point is a tag with its newest reading.
type point struct {
	Tag
	valueType
	newest tags.Reading // without a Time when there is none
	came   time.Time    // by time.Now, which a set clock does not move
}

type subscription struct {
	points  []tags.Point
	indexes map[*point][]int
	emit    func(int, tags.Reading)
	gone    chan struct{} // closed by Close
}

// New returns a driver. The error names each bad member by its path, such as Tags[3].Type.
func New(o Options) (*Driver, error) {
	d := &Driver{now: o.Now, byName: make(map[string]*point), byAddr: make(map[string]*point),
		subs: make(map[*subscription]struct{}), listening: make(chan struct{})}
	if d.now == nil {
		d.now = time.Now
	}
	var bad []fault.Field
	for i, tag := range o.Tags {
		at := func(member, format string, args ...any) {
			bad = append(bad, fault.Field{Field: fmt.Sprintf("Tags[%d].%s", i, member), Message: fmt.Sprintf(format, args...)})
		}
		if len(bad) >= maxReported {
			break
		}
		d.add(tag, at)
	}
	if len(bad) > 0 {
		return nil, tags.ErrInvalidDriver.Invalid(bad...)
	}
	return d, nil
}

func (d *Driver) add(tag Tag, at func(member, format string, args ...any)) {
	if tag.Name == "" {
		at("Name", "is required")
	} else if d.byName[tag.Name] != nil {
		at("Name", "is given twice")
	}
	if tag.Address == "" {
		tag.Address = tag.Name
	}
	if tag.Address != "" && d.byAddr[tag.Address] != nil {
		at("Address", "%.40q is given twice", tag.Address)
	}
	t, err := parseType(tag.Type)
	if err != nil {
		at("Type", "%s", err)
	}
	if tag.StaleAfter < 0 {
		at("StaleAfter", "must not be negative")
	}
	p := &point{Tag: tag, valueType: t}
	d.all = append(d.all, p)
	d.byName[tag.Name], d.byAddr[tag.Address] = p, p
}

// Connect implements tags.Driver.
func (d *Driver) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connected = true
	return nil
}

// Close implements tags.Driver. It ends the subscriptions.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.connected = false
	for s := range d.subs {
		close(s.gone)
	}
	clear(d.subs)
	return nil
}

// Unpolled implements tags.Unpolled.
func (d *Driver) Unpolled() {}

// errNothing is the Err of a reading of a tag for which no value has come.
var errNothing = errors.New("no value has come yet")

// Read returns the newest readings that were pushed. The engine does not call it.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.connected {
		return tags.ErrNotConnected
	}
	for i := range points {
		p := d.byAddr[points[i].Address]
		switch {
		case p == nil:
			out[i].Err = tags.ErrNoSuchAddress
		case p.newest.Time.IsZero():
			out[i].Err = errNothing
		default:
			out[i] = p.reading(points[i].Type)
		}
	}
	return nil
}

// reading returns the newest reading as a value of a type, and with the quality that its age leaves.
func (p *point) reading(as tags.DataType) tags.Reading {
	r := converted(p.newest, as)
	age := time.Since(p.came)
	switch {
	case r.Err != nil || r.Quality == tags.Bad || p.StaleAfter == 0 || age <= p.StaleAfter:
	case age/3 > p.StaleAfter:
		r.Quality, r.Reason = tags.Bad, tags.ReasonStale
	default:
		r.Quality, r.Reason = tags.Uncertain, tags.ReasonStale
	}
	return r
}

func converted(r tags.Reading, as tags.DataType) tags.Reading {
	if r.Value.IsZero() {
		return r
	}
	v, err := r.Value.Convert(as)
	if err != nil {
		return tags.Reading{Err: tags.ErrType, Time: r.Time}
	}
	r.Value = v
	return r
}

// errReadOnly is the error of every write.
var errReadOnly = errors.New("the equipment sends values and takes none")

// Write refuses every item.
func (d *Driver) Write(ctx context.Context, _ []tags.WriteItem, errs []error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.connected {
		return tags.ErrNotConnected
	}
	for i := range errs {
		errs[i] = errReadOnly
	}
	return nil
}

// Subscribe emits the newest reading of each point, and then what is pushed.
func (d *Driver) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	s := &subscription{points: slices.Clone(points), indexes: make(map[*point][]int, len(points)), emit: emit, gone: make(chan struct{})}
	if err := d.subscribe(s); err != nil {
		return err
	}
	select {
	case <-s.gone:
		return tags.ErrNotConnected
	case <-ctx.Done():
	}
	d.mu.Lock() // Push does not emit any more when this returns
	defer d.mu.Unlock()
	delete(d.subs, s)
	return ctx.Err()
}

func (d *Driver) subscribe(s *subscription) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.connected {
		return tags.ErrNotConnected
	}
	for i := range s.points {
		p := d.byAddr[s.points[i].Address]
		if p == nil {
			s.emit(i, tags.Reading{Err: tags.ErrNoSuchAddress})
			continue
		}
		s.indexes[p] = append(s.indexes[p], i)
		if !p.newest.Time.IsZero() {
			s.emit(i, p.reading(s.points[i].Type))
		}
	}
	d.subs[s] = struct{}{}
	close(d.listening)
	d.listening = make(chan struct{})
	return nil
}

// Browse implements tags.Browser.
func (d *Driver) Browse(ctx context.Context) ([]tags.Tag, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := make([]tags.Tag, len(d.all))
	for i, p := range d.all {
		list[i] = tags.Tag{Name: p.Name, Address: p.Address, NativeType: p.native(), DataType: p.data, Access: tags.ReadOnly, StaleAfter: p.StaleAfter}
	}
	return list, nil
}

// native returns the type where it is not the data type itself.
func (p *point) native() string {
	if p.Type == string(p.data) {
		return ""
	}
	return p.Type
}

// ValidatePoint implements tags.PointValidator: only the addresses of the driver's tags can have a value.
func (d *Driver) ValidatePoint(p tags.Point) error {
	known := d.byAddr[p.Address]
	if known == nil {
		return fmt.Errorf("%w: %.40q is not the address of one of the driver's tags", tags.ErrAddress, p.Address)
	}
	if p.Type != known.data && !(number(p.Type) && number(known.data)) {
		return fmt.Errorf("%w: a %s tag cannot hold a %s", tags.ErrAddress, p.Type, known.data)
	}
	return nil
}

func number(t tags.DataType) bool { return t == tags.Int || t == tags.Float }

// LastData returns when the last batch came; zero before the first.
func (d *Driver) LastData() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

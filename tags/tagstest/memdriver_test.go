package tagstest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

// memDriver is a driver of a device in memory. Its defect, if any, is one that a real driver could
// have.
type memDriver struct {
	defect    string
	connected bool
	closed    int
	shared    []*memRequests

	mu      sync.Mutex
	values  map[string]tags.Value
	away    bool
	thawed  chan struct{} // closed unless the device is frozen
	changed chan struct{} // closed at the next change
}

func memHarness(defect string) tagstest.DriverHarness {
	setpoint := tags.Point{Address: "setpoint", Type: tags.Float}
	recipe := tags.Point{Address: "recipe", Type: tags.String}
	thaw := func(_ testing.TB, d tags.Driver) { close(d.(*memDriver).thawed) }
	return tagstest.DriverHarness{
		New: func(testing.TB) tags.Driver {
			d := &memDriver{defect: defect, thawed: make(chan struct{}), changed: make(chan struct{})}
			close(d.thawed)
			d.values = map[string]tags.Value{
				"level": tags.FloatValue(1), "count": tags.IntValue(2), "setpoint": tags.FloatValue(3), "recipe": tags.StringValue("a"),
			}
			return d
		},
		Readable: []tags.Point{{Address: "level", Type: tags.Float}, {Address: "count", Type: tags.Int}, setpoint},
		Writable: []tags.WriteItem{
			{Point: setpoint, Value: tags.FloatValue(20)},
			{Point: recipe, Value: tags.StringValue("b")},
			{Point: setpoint, Value: tags.FloatValue(21)},
		},
		Refused:    []tags.WriteItem{{Point: tags.Point{Address: "level", Type: tags.Float}, Value: tags.FloatValue(1)}},
		Missing:    tags.Point{Address: "absent", Type: tags.Float},
		Malformed:  tags.Point{Address: "!", Type: tags.Float},
		Disconnect: func(_ testing.TB, d tags.Driver) { d.(*memDriver).setAway(true) },
		Reconnect:  func(_ testing.TB, d tags.Driver) { d.(*memDriver).setAway(false) },
		Stall:      func(_ testing.TB, d tags.Driver) { d.(*memDriver).thawed = make(chan struct{}) },
		Resume:     thaw,
		Timeout:    time.Second,
	}
}

func (d *memDriver) setAway(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
	d.tell()
}

// tell wakes the subscriptions. The lock is held.
func (d *memDriver) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *memDriver) isAway() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.away
}

func (d *memDriver) Connect(ctx context.Context) error {
	if d.isAway() || d.defect == "connects once" && d.closed > 0 {
		return errors.New("no answer")
	}
	if d.defect == "leaks" {
		go func() { select {} }()
	}
	d.connected = ctx.Err() == nil
	return ctx.Err()
}

func (d *memDriver) Close() error {
	d.closed++
	d.connected = false
	if d.defect == "second Close fails" && d.closed > 1 {
		return errors.New("closed before")
	}
	return nil
}

// begin does what comes before every read and write.
func (d *memDriver) begin(ctx context.Context) error {
	if d.defect == "ignores its context" {
		<-d.thawed
	}
	if ctx.Err() != nil && d.defect == "cancel kills it" {
		d.defect = "dead"
	}
	select {
	case <-d.thawed:
	case <-ctx.Done():
		return ctx.Err()
	}
	if d.isAway() && d.defect != "value after the break" {
		d.connected = false
		if d.defect == "does not recover" {
			d.defect = "dead"
		}
	}
	switch {
	case d.defect == "dead":
		return errors.New("out of order")
	case !d.connected && d.defect == "no ErrNotConnected":
		return errors.New("closed")
	case !d.connected:
		return tags.ErrNotConnected
	}
	return nil
}

func (d *memDriver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range points {
		v, found := d.values[p.Address]
		switch {
		case d.defect == "reads what is malformed" && p.Address == "!":
			out[i] = tags.Reading{Value: tags.FloatValue(0), Quality: tags.Good}
		case !found && d.defect == "bad point fails all":
			return tags.ErrNoSuchAddress
		case !found:
			out[i].Err = tags.ErrNoSuchAddress
		case d.defect == "leaves an item unset" && p.Address == "count":
		case d.defect == "reads another type" && p.Address == "count":
			out[i] = tags.Reading{Value: tags.FloatValue(2), Quality: tags.Good}
		default:
			out[i] = tags.Reading{Value: v, Quality: tags.Good}
		}
		if d.defect == "vouches for nothing" {
			out[i].Quality = tags.Bad
		}
	}
	if d.defect == "shifts the answers" && len(out) > 1 {
		copy(out, append(slices.Clone(out[1:]), out[0]))
	}
	return nil
}

func (d *memDriver) CallTimeout() time.Duration { return time.Second }

// Plan asks for two points at a time.
func (d *memDriver) Plan(points []tags.Point) tags.Requests {
	r := &memRequests{driver: d, points: points}
	for i := range points {
		r.left = append(r.left, i)
	}
	if d.defect == "plan forgets a point" && len(points) > 1 {
		r.left = r.left[1:]
	}
	return r
}

type memRequests struct {
	driver *memDriver
	points []tags.Point
	left   []int
}

func (r *memRequests) Len() int { return (len(r.left) + 1) / 2 }

func (r *memRequests) Next(ctx context.Context, out []tags.Reading) (tags.Answer, error) {
	d, which := r.driver, r.left[:min(2, len(r.left))]
	a := tags.Answer{Points: which, Asked: time.Now()}
	var points []tags.Point
	for _, i := range which {
		points = append(points, r.points[i])
	}
	read := make([]tags.Reading, len(points))
	if d.defect == "plan ignores its context" {
		ctx = context.WithoutCancel(ctx)
	}
	if d.defect == "plan reads over the break" {
		d.connected = true
		for i := range read {
			read[i] = tags.Reading{Value: d.values[points[i].Address], Quality: tags.Good}
		}
	} else if err := d.Read(ctx, points, read); err != nil {
		return tags.Answer{}, err
	}
	for n, i := range which {
		if d.defect == "plan shifts the answers" {
			n = len(which) - 1 - n
		}
		out[i] = read[n]
	}
	switch {
	case d.defect == "plan never ends":
		a.Points = nil
	case d.defect == "plan settles a point twice" && len(r.points) > 2:
		r.left = r.left[1:]
	case d.defect == "plans share their state":
		r.left = r.left[len(which):]
		for _, other := range d.shared {
			if other != r {
				other.left = nil
			}
		}
		d.shared = append(d.shared, r)
	default:
		r.left = r.left[len(which):]
	}
	return a, nil
}

func (d *memDriver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	if d.defect == "lies about stalled writes" && d.connected && len(items) == 1 {
		select {
		case <-d.thawed:
		default: // the device has the request, and takes the value when it goes on
			<-ctx.Done()
			d.values[items[0].Point.Address] = items[0].Value
			errs[0] = errors.New("no answer")
			return nil
		}
	}
	if err := d.begin(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := range items {
		i := n
		if d.defect == "writes backwards" {
			i = len(items) - 1 - n
		}
		errs[i] = d.write(items[i], errs[i])
	}
	d.tell()
	return nil
}

func (d *memDriver) write(item tags.WriteItem, unset error) error {
	if address := item.Point.Address; address != "setpoint" && address != "recipe" {
		if d.defect == "takes any write" {
			return nil
		}
		return tags.ErrDevice
	}
	if d.defect != "loses writes" {
		d.values[item.Point.Address] = item.Value
	}
	if d.defect == "leaves errs unset" {
		return unset
	}
	return nil
}

func (d *memDriver) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	if !d.connected {
		return tags.ErrNotConnected
	}
	if d.defect == "emits late" {
		for _, late := range []time.Duration{5, 15, 30} {
			defer time.AfterFunc(late*time.Millisecond, func() { emit(0, tags.Reading{}) })
		}
	}
	if d.defect == "subscribes for ever" {
		ctx = context.Background()
	}
	for {
		d.mu.Lock()
		changed, away := d.changed, d.away
		now := make([]tags.Value, len(points))
		for i, p := range points {
			now[i] = d.values[p.Address]
		}
		d.mu.Unlock()
		if away && d.defect != "subscribes over the break" {
			return tags.ErrNotConnected
		}
		for i, v := range now {
			if d.defect != "emits nothing" {
				emit(i, tags.Reading{Value: v, Quality: tags.Good})
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *memDriver) Browse(context.Context) ([]tags.Tag, error) {
	list := []tags.Tag{
		{Name: "level", Address: "level", DataType: tags.Float, Access: tags.ReadOnly},
		{Name: "recipe", Address: "recipe", DataType: tags.String, Access: tags.ReadWrite},
	}
	if d.defect == "browses a name twice" {
		list = append(list, list[0])
	}
	return list, nil
}

func (d *memDriver) ValidatePoint(p tags.Point) error {
	if p.Address == "!" && d.defect != "checks nothing" {
		return tags.ErrAddress
	}
	return nil
}

func (d *memDriver) MaxBatch() int {
	if d.defect == "MaxBatch 0" {
		return 0
	}
	return 4
}

package derived

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/otkit/otkit/tags"
)

// Driver is the tags.Driver whose tags are the derived ones. Get it from [Service.Driver].
type Driver struct {
	graph     *graph
	targets   sync.Map // of aliases, by id
	connected atomic.Bool
}

var (
	_ tags.Unpolled   = (*Driver)(nil)
	_ tags.Redirector = (*Driver)(nil)
)

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

// Unpolled implements tags.Unpolled.
func (d *Driver) Unpolled() {}

// Read implements tags.Driver.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !d.connected.Load():
		return tags.ErrNotConnected
	}
	d.graph.mu.Lock()
	defer d.graph.mu.Unlock()
	for i := range points {
		if n := d.graph.nodes[points[i].Address]; n != nil && n.seen {
			out[i] = n.reading()
		} else {
			out[i].Err = tags.ErrNoSuchAddress
		}
	}
	return nil
}

// Write implements tags.Driver. Writes of aliases do not come here, see WriteTarget.
func (d *Driver) Write(_ context.Context, _ []tags.WriteItem, errs []error) error {
	if !d.connected.Load() {
		return tags.ErrNotConnected
	}
	for i := range errs {
		errs[i] = fmt.Errorf("%w: the tag is computed", tags.ErrDevice)
	}
	return nil
}

// WriteTarget implements tags.Redirector: what is written to an alias is written to its target.
func (d *Driver) WriteTarget(p tags.Point) (string, bool) {
	target, ok := d.targets.Load(p.Address)
	if !ok {
		return "", false
	}
	return target.(string), true
}

// Subscribe implements tags.Subscriber: it computes the tags, and emits those that have another result.
func (d *Driver) Subscribe(ctx context.Context, points []tags.Point, emit func(i int, r tags.Reading)) error {
	if !d.connected.Load() {
		return tags.ErrNotConnected
	}
	index := make(map[string]int, len(points))
	for i := range points {
		index[points[i].Address] = i
	}
	d.graph.pass()
	var out []outcome
	for first := true; ; first = false {
		if first {
			out = d.graph.results(out[:0], nil, index)
		} else {
			out = d.graph.results(out[:0], d.graph.pass(), index)
		}
		for i := range out {
			emit(out[i].index, out[i].reading)
		}
		select {
		case <-d.graph.inlet.wake.C():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// outcome is the result of a point of a subscription.
type outcome struct {
	index   int
	reading tags.Reading
}

// results appends the results of nodes, nil for all, that are points of a subscription.
func (g *graph) results(to []outcome, of []*node, index map[string]int) []outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of == nil {
		for _, n := range g.nodes {
			if i, ok := index[n.def.ID]; ok && n.seen {
				to = append(to, outcome{i, n.reading()})
			}
		}
	}
	for _, n := range of {
		if i, ok := index[n.def.ID]; ok {
			to = append(to, outcome{i, n.reading()})
		}
	}
	return to
}

package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/otkit/otkit/fault"
)

// Duties divide the work of a [Member] by kind, so that each part of an engine looks after its own: the name of a work is its kind, a
// slash and an id. The zero value is ready. Safe for concurrent use.
type Duties struct {
	mu     sync.Mutex
	member *Member
	kinds  map[string]*duty
	held   map[string]*Held // by work
}

type duty struct {
	do    func(ctx context.Context, id string, lease *Held) error
	works []Work
}

// errNoDuty is for work of a kind that this engine does not know.
var errNoDuty = fault.New(fault.Unsupported, "WORK_UNKNOWN", "this engine does not know work of this kind")

// Handle sets what does the work of a kind, see [Options.Do]. Call it once for a kind, before [Duties.Set].
func (d *Duties) Handle(kind string, do func(ctx context.Context, id string, lease *Held) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kinds == nil {
		d.kinds = map[string]*duty{}
	}
	d.kinds[kind] = &duty{do: do}
}

// Set replaces the work of a kind. Names in works are ids, without the kind.
func (d *Duties) Set(kind string, works []Work) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.kinds[kind]
	if k == nil {
		return
	}
	k.works = slices.Clone(works)
	for i := range k.works {
		k.works[i].Name = kind + "/" + k.works[i].Name
	}
	d.assign()
}

// Begin gives the member the work that was set, and what is set from now on.
func (d *Duties) Begin(m *Member) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.member = m
	d.assign()
}

// assign gives the member all work. d.mu is held.
func (d *Duties) assign() {
	if d.member != nil {
		d.member.SetWork(d.all())
	}
}

func (d *Duties) all() (all []Work) {
	for _, kind := range slices.Sorted(maps.Keys(d.kinds)) {
		all = append(all, d.kinds[kind].works...)
	}
	return all
}

// Works returns the work of all kinds.
func (d *Duties) Works() []Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all()
}

// Do is for [Options.Do].
func (d *Duties) Do(ctx context.Context, lease *Held) error {
	kind, id, _ := strings.Cut(lease.Work, "/")
	d.mu.Lock()
	k := d.kinds[kind]
	if d.held == nil {
		d.held = map[string]*Held{}
	}
	d.held[lease.Work] = lease
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.held, lease.Work)
	}()
	if k == nil {
		return errNoDuty.On("work", lease.Work)
	}
	return k.do(ctx, id, lease)
}

// Held returns the lease of a work that this engine does now, nil if it does not. It may have ended: see [Held.Valid].
func (d *Duties) Held(kind, id string) *Held {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held[kind+"/"+id]
}

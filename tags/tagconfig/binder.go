package tagconfig

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/otkit/otkit/tags"
)

// Definer is what a Binder needs of the tag engine.
type Definer interface {
	// Define adds definitions, or replaces those of the same name, whose driver may be another one then. It
	// may refuse all of them because of one; the error is then for the call as a whole.
	DefineTags(tags ...tags.Tag) error
	// Undefine removes definitions; names that are not defined do not matter.
	RemoveTags(names ...string)
}

// Binder brings drivers and configuration together: it keeps what each driver knows of its tags (the
// base), lays the configuration over it and defines what changed in the engine. A configured tag that its
// driver does not know is defined as well. Safe for concurrent use; calls to the engine come one
// after the other.
type Binder struct {
	engine Definer
	log    *slog.Logger

	mu      sync.Mutex
	base    map[string][]tags.Tag // by driver
	config  []Config
	defined map[string]*tags.Tag // what the engine has, by name; an entry of base is shared
	refused map[string][]refusal // what the engine did not take, by name
}

type refusal struct {
	tag tags.Tag
	err error
}

// NewBinder makes a Binder. A nil logger is slog.Default.
func NewBinder(engine Definer, logger *slog.Logger) (*Binder, error) {
	if engine == nil {
		return nil, errors.New("tagconfig: NewBinder needs an engine")
	}
	if logger == nil {
		logger = slog.Default()
	}
	return &Binder{
		engine: engine, log: logger,
		base: map[string][]tags.Tag{}, defined: map[string]*tags.Tag{}, refused: map[string][]refusal{},
	}, nil
}

// SetConfig replaces the configuration. It has the form of Options.OnChange.
func (b *Binder) SetConfig(items []Config) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.config = slices.Clone(items)
	b.bind("")
}

// SetBase replaces what a source knows of tags: a driver, or who defines tags of drivers. Tags without a Driver are of
// the driver with the source's id. What the engine refused of the driver before is tried again. Of two sources that claim
// one tag name, the first by id has it.
func (b *Binder) SetBase(driverID string, base []tags.Tag) {
	base = slices.Clone(base)
	for i := range base {
		base[i].Driver = cmp.Or(base[i].Driver, driverID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.base[driverID] = base
	b.bind(driverID)
}

// RemoveBase forgets a driver. Its configured tags stay defined, so that they can be seen to have no
// driver; the others go.
func (b *Binder) RemoveBase(driverID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.base, driverID)
	b.bind(driverID)
}

// Errors returns why definitions were refused, by tag name. For such a tag the driver's own definition
// is in force, when there is one that the engine takes.
func (b *Binder) Errors() map[string]error {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := make(map[string]error, len(b.refused))
	for name, all := range b.refused {
		found[name] = all[0].err
	}
	return found
}

// bind works out all definitions and applies the difference. Definitions of the driver retry that
// were refused are tried again.
func (b *Binder) bind(retry string) {
	base := b.baseTags()
	overlay := make(map[string]*tags.Tag, len(b.config))
	for i := range b.config {
		c := &b.config[i]
		t := c.Tag(base[c.TagID])
		overlay[c.TagID] = &t
	}
	b.forgetRefusals(overlay, base, retry)
	// The configured definition, then the base when that was refused, then nothing.
	for range 3 {
		want := maps.Clone(base)
		maps.Copy(want, overlay)
		for name := range b.refused {
			if b.wasRefused(name, want[name]) {
				want[name] = base[name]
			}
			if want[name] == nil || b.wasRefused(name, want[name]) {
				delete(want, name)
			}
		}
		b.undefine(want)
		if b.define(want) {
			return
		}
	}
}

// forgetRefusals drops the refusals of definitions that are not asked for any more, and those of a
// driver.
func (b *Binder) forgetRefusals(overlay, base map[string]*tags.Tag, driver string) {
	for name, all := range b.refused {
		all = slices.DeleteFunc(all, func(r refusal) bool {
			asked := overlay[name] != nil && sameTag(overlay[name], &r.tag) || base[name] != nil && sameTag(base[name], &r.tag)
			return !asked || r.tag.Driver == driver
		})
		if b.refused[name] = all; len(all) == 0 {
			delete(b.refused, name)
		}
	}
}

func (b *Binder) wasRefused(name string, t *tags.Tag) bool {
	return t != nil && slices.ContainsFunc(b.refused[name], func(r refusal) bool { return sameTag(t, &r.tag) })
}

// baseTags returns the base of all drivers by name.
func (b *Binder) baseTags() map[string]*tags.Tag {
	size := 0
	for _, base := range b.base {
		size += len(base)
	}
	all := make(map[string]*tags.Tag, size)
	for _, driver := range slices.Sorted(maps.Keys(b.base)) {
		base := b.base[driver]
		for i := range base {
			name := base[i].Name
			if other := all[name]; other != nil && other.Driver != driver {
				b.log.Warn("tag name is in use by another driver", "tag", name, "driver", driver, "other", other.Driver)
				continue
			}
			all[name] = &base[i]
		}
	}
	return all
}

// undefine removes what is not wanted. A tag that moved to another driver stays: for its readers it
// would be removed.
func (b *Binder) undefine(want map[string]*tags.Tag) {
	var gone []string
	for name := range b.defined {
		if want[name] == nil {
			gone = append(gone, name)
			delete(b.defined, name)
		}
	}
	if len(gone) > 0 {
		slices.Sort(gone)
		b.engine.RemoveTags(gone...)
	}
}

// define defines what is new or different and reports whether the engine took all of it.
func (b *Binder) define(want map[string]*tags.Tag) bool {
	var changed []string
	for name, t := range want {
		if have := b.defined[name]; have == nil || !sameTag(have, t) {
			changed = append(changed, name)
		} else {
			b.defined[name] = t
		}
	}
	slices.Sort(changed)
	ok := true
	batch := make([]tags.Tag, 0, len(changed))
	for _, name := range changed {
		if err := want[name].Validate(); err != nil {
			b.refuse(*want[name], err)
			ok = false
			continue
		}
		batch = append(batch, *want[name])
	}
	return b.defineBatch(batch, want) && ok
}

// defineBatch defines a batch. When the engine refuses it, halves are tried, down to the single
// definitions that are to blame.
func (b *Binder) defineBatch(batch []tags.Tag, want map[string]*tags.Tag) bool {
	if len(batch) == 0 {
		return true
	}
	err := b.engine.DefineTags(batch...)
	switch {
	case err == nil:
		for i := range batch {
			b.defined[batch[i].Name] = want[batch[i].Name]
		}
		return true
	case len(batch) == 1 || errors.Is(err, tags.ErrClosed):
		for _, t := range batch {
			b.refuse(t, err)
		}
		return false
	}
	half := len(batch) / 2
	first := b.defineBatch(batch[:half], want)
	return b.defineBatch(batch[half:], want) && first
}

func (b *Binder) refuse(t tags.Tag, err error) {
	b.refused[t.Name] = append(b.refused[t.Name], refusal{t, err})
	b.log.Error("tag definition refused", "tag", t.Name, "driver", t.Driver, "error", err)
}

// sameTag compares definitions, limits by value.
func sameTag(a, b *tags.Tag) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	if !sameNumber(x.Min, y.Min) || !sameNumber(x.Max, y.Max) {
		return false
	}
	x.Min, x.Max, y.Min, y.Max = nil, nil, nil, nil
	return x == y
}

func sameNumber(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

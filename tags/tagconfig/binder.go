package tagconfig

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"strings"
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

// lenient is a Definer that takes what people have configured although the driver refuses the address. A *tags.Engine is one.
type lenient interface {
	// Check returns the error that DefineTags would return for a tag.
	Check(tags.Tag) error
	// DefineUnusable defines a tag whose address its driver refuses. It is Bad until it is defined otherwise.
	DefineUnusable(tags.Tag) error
}

// Binder brings drivers and configuration together: it keeps what each source knows of its tags (the
// base), lays the configuration over it and defines what changed in the engine. A configured tag that its
// driver does not know is defined as well. Its cost follows what changes. Safe for concurrent use; calls to the engine come one
// after the other.
type Binder struct {
	engine  Definer
	lenient lenient // the engine, if it is one
	log     *slog.Logger

	mu      sync.Mutex
	sources map[string][]tags.Tag // base by source
	base    map[string][]claim    // by tag name; of each by source
	config  map[string]*Config    // by tag id; those of a Store are shared with it
	defined map[string]*tags.Tag  // what the engine has, by name; an entry of base is shared
	refused map[string][]refusal  // what the engine did not take, by name
}

// claim is the base of a tag by one source.
type claim struct {
	source string
	tag    *tags.Tag
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
	l, _ := engine.(lenient)
	return &Binder{
		engine: engine, lenient: l, log: logger,
		sources: map[string][]tags.Tag{}, base: map[string][]claim{}, config: map[string]*Config{},
		defined: map[string]*tags.Tag{}, refused: map[string][]refusal{},
	}, nil
}

// Change changes the configuration by an edit whose items are valid. It has the form of Options.OnChange.
func (b *Binder) Change(e Edit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := make([]string, 0, len(e.Put)+len(e.Remove))
	for _, id := range e.Remove {
		delete(b.config, id)
		names = append(names, id)
	}
	for i := range e.Put {
		c := &e.Put[i]
		if e.kept != nil {
			c = e.kept[i]
		} else {
			own := *c
			c = &own
		}
		b.config[c.TagID] = c
		names = append(names, e.Put[i].TagID)
	}
	b.bind(names, "")
}

// SetBase replaces what a source knows of tags: a driver, or who defines tags of drivers. Tags without a Driver are of
// the driver with the source's id. What the engine refused of the driver before is tried again. Of two sources that claim
// one tag name, the first by id has it.
func (b *Binder) SetBase(source string, base []tags.Tag) {
	base = slices.Clone(base)
	for i := range base {
		base[i].Driver = cmp.Or(base[i].Driver, source)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.disclaim(source)
	b.sources[source] = base
	for i := range base {
		b.claim(source, &base[i])
		names = append(names, base[i].Name)
	}
	for name := range b.refused {
		names = append(names, name)
	}
	b.bind(names, source)
}

// RemoveBase forgets a source. Configured tags stay defined, so that they can be seen to have no
// driver; the others go.
func (b *Binder) RemoveBase(source string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.disclaim(source)
	delete(b.sources, source)
	b.bind(names, source)
}

// Only returns the names of the tags that would be gone without a source: no other source has them, and they are not configured.
func (b *Binder) Only(source string) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.sources[source] {
		name := b.sources[source][i].Name
		if _, configured := b.config[name]; !configured && len(b.base[name]) == 1 {
			names = append(names, name)
		}
	}
	return names
}

// disclaim takes the base of a source away and returns the names of its tags.
func (b *Binder) disclaim(source string) (names []string) {
	old := b.sources[source]
	for i := range old {
		name := old[i].Name
		names = append(names, name)
		left := slices.DeleteFunc(b.base[name], func(c claim) bool { return c.source == source })
		if len(left) == 0 {
			delete(b.base, name)
		} else {
			b.base[name] = left
		}
	}
	return names
}

func (b *Binder) claim(source string, t *tags.Tag) {
	all := slices.DeleteFunc(b.base[t.Name], func(c claim) bool { return c.source == source }) // of two of one source the last counts
	if len(all) > 0 {
		b.log.Warn("tag name is in use by another driver", "tag", t.Name, "driver", source, "other", all[0].source)
	}
	all = append(all, claim{source, t})
	slices.SortFunc(all, func(x, y claim) int { return strings.Compare(x.source, y.source) })
	b.base[t.Name] = all
}

// Errors returns why definitions were refused, by tag name. For such a tag the driver's own definition
// is in force, when there is one that the engine takes. A configured tag whose driver refuses the address is defined all the same, and not
// among them.
func (b *Binder) Errors() map[string]error {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := make(map[string]error, len(b.refused))
	for name, all := range b.refused {
		found[name] = all[0].err
	}
	return found
}

// candidates returns the definitions of a tag that are asked for, the best one first: the configured one, then the base.
func (b *Binder) candidates(name string) (list []*tags.Tag) {
	var base *tags.Tag
	if all := b.base[name]; len(all) > 0 {
		base = all[0].tag
	}
	if c, ok := b.config[name]; ok {
		t := b.configured(c)
		list = append(list, &t)
	}
	if base != nil {
		list = append(list, base)
	}
	return list
}

// configured returns the definition that an item makes of what is known of its tag.
func (b *Binder) configured(c *Config) tags.Tag {
	for _, known := range b.base[c.TagID] {
		if known.tag.Driver == c.DriverID {
			return c.Tag(known.tag)
		}
	}
	return c.Tag(nil)
}

// Check returns why the engine, or the running driver, would refuse what an item makes of its tag; nil if the driver is not there.
func (b *Binder) Check(c *Config) error {
	b.mu.Lock()
	t := b.configured(c)
	b.mu.Unlock()
	if err := t.Validate(); err != nil || b.lenient == nil {
		return err
	}
	return b.lenient.Check(t)
}

// portion bounds the tags whose definitions are worked out at a time, for the memory that it takes.
const portion = 4096

// bind works out the definitions of some tags and applies the difference. Definitions of the driver retry that
// were refused are tried again.
func (b *Binder) bind(names []string, retry string) {
	slices.Sort(names)
	for part := range slices.Chunk(slices.Compact(names), portion) {
		b.bindPart(part, retry)
	}
}

func (b *Binder) bindPart(names []string, retry string) {
	asked := make(map[string][]*tags.Tag, len(names))
	for _, name := range names {
		asked[name] = b.candidates(name)
		b.forgetRefusals(name, asked[name], retry)
	}
	for range 3 { // the configured definition, then the base when that was refused, then nothing
		want := make(map[string]*tags.Tag, len(names))
		var gone, changed []string
		for _, name := range names {
			for _, t := range asked[name] {
				if !b.wasRefused(name, t) {
					want[name] = t
					break
				}
			}
			switch have, t := b.defined[name], want[name]; {
			case t == nil && have != nil:
				gone = append(gone, name)
				delete(b.defined, name)
			case t == nil:
			case have == nil || !sameTag(have, t):
				changed = append(changed, name)
			default:
				b.defined[name] = t
			}
		}
		if len(gone) > 0 { // a tag that moved to another driver stays: for its readers it would be removed
			b.engine.RemoveTags(gone...)
		}
		if b.define(changed, want) {
			return
		}
	}
}

// forgetRefusals drops the refusals of definitions that are not asked for any more, and those of a
// driver.
func (b *Binder) forgetRefusals(name string, asked []*tags.Tag, retry string) {
	list := b.refused[name]
	if len(list) == 0 {
		return
	}
	list = slices.DeleteFunc(list, func(r refusal) bool {
		return retry != "" && r.tag.Driver == retry || !slices.ContainsFunc(asked, func(t *tags.Tag) bool { return sameTag(t, &r.tag) })
	})
	if b.refused[name] = list; len(list) == 0 {
		delete(b.refused, name)
	}
}

func (b *Binder) wasRefused(name string, t *tags.Tag) bool {
	return slices.ContainsFunc(b.refused[name], func(r refusal) bool { return sameTag(t, &r.tag) })
}

// define defines what is new or different and reports whether the engine took all of it.
func (b *Binder) define(changed []string, want map[string]*tags.Tag) bool {
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
			name := batch[i].Name
			b.defined[name] = b.shared(want[name])
		}
		return true
	case len(batch) == 1 && !errors.Is(err, tags.ErrClosed) && b.defineUnusable(&batch[0], err):
		b.defined[batch[0].Name] = b.shared(want[batch[0].Name])
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

// defineUnusable defines a tag as it is configured although its driver refuses the address, and reports whether it did: what people see is to
// be what they have configured, and not a value from elsewhere.
func (b *Binder) defineUnusable(t *tags.Tag, why error) bool {
	c, ok := b.config[t.Name]
	if !ok || b.lenient == nil {
		return false
	}
	if configured := b.configured(c); !sameTag(&configured, t) || b.lenient.DefineUnusable(*t) != nil {
		return false
	}
	b.log.Error("tag definition refused", "tag", t.Name, "driver", t.Driver, "error", why)
	return true
}

// shared returns what the engine keeps of a definition, if it is the same and can be had, so that there are not two in memory.
func (b *Binder) shared(t *tags.Tag) *tags.Tag {
	if k, ok := b.engine.(keeper); ok && t != nil {
		if s, err := k.Read(t.Name); err == nil && sameTag(s.Tag, t) {
			return s.Tag
		}
	}
	return t
}

// keeper is a Definer that tells what it has, as tags.Engine does.
type keeper interface {
	Read(name string) (tags.Snapshot, error)
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
	if !samePointed(x.Min, y.Min) || !samePointed(x.Max, y.Max) {
		return false
	}
	x.Min, x.Max, y.Min, y.Max = nil, nil, nil, nil
	return x == y
}

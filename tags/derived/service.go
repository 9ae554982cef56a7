package derived

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Kind is the kind of a derived tag's [Document].
const Kind = "derived-tag"

// Tags is the tag engine. A *tags.Engine is a Tags.
type Tags interface {
	// Read returns a tag, or an error if there is none of the name.
	Read(name string) (tags.Snapshot, error)
	// Observe calls notify with changes; see tags.Engine.
	Observe(notify func([]tags.Change)) (cancel func())
	// Revision returns a number that changes whenever tags are defined or removed.
	Revision() uint64
}

// Options configure a [Service]. The zero value works.
type Options struct {
	Repository Repository // default: in memory
	// Define gets the tags of all definitions when they have changed. It defines them, and removes those that it got before and
	// that are gone. Calls come one after the other. Default: nothing is defined.
	Define func(list []tags.Tag) error
	// MaxTags is how many derived tags there may be, those of templates included. Default 50,000.
	MaxTags int
	// Interval is how often it is looked whether tags have been defined that definitions miss. Default 1 s.
	Interval time.Duration

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// Stored is a definition that is in force.
type Stored struct {
	Definition
	Kind      tags.DataType // of the tag; empty while it is not known, because an input has never been seen
	Access    tags.AccessMode
	Inputs    []string // names of the tags that it is computed from
	Message   string   // why the value is Bad; empty if it is not
	Owner     string   // who has defined it, such as an instance of a template; empty for one of its own
	Revision  int64    // 0 if it has an owner
	CreatedAt time.Time
	UpdatedAt time.Time
}

// record is what is stored of a definition, beside its document.
type record struct {
	Definition
	Kind tags.DataType `json:"kind,omitempty"` // as it was when the definition was stored
}

// Service has the definitions of derived tags. Safe for concurrent use. Close must be called.
type Service struct {
	opts    Options
	tags    Tags
	driver  *Driver
	graph   *graph
	unwatch func()

	editing  sync.Mutex // held while definitions change; taken before mu
	defined  []tags.Tag // what Define got
	revision uint64     // of the tags, as Follow has seen them
	position int64      // of the repository
	late     bool       // defined is not what the definitions say

	mu     sync.Mutex
	stored map[string]Document // of definitions without an owner, by id
	owner  map[string]string   // of definitions that have one, by id
}

// New opens the definitions. Those that cannot be read are logged and left out.
func New(ctx context.Context, t Tags, o Options) (*Service, error) {
	if t == nil {
		return nil, fault.Option("derived", "tags", "is required")
	}
	if o.MaxTags < 0 || o.Interval < 0 {
		return nil, fault.Option("derived", "Options", "MaxTags and Interval must not be negative")
	}
	if o.Repository == nil {
		o.Repository = NewMemory()
	}
	if o.MaxTags == 0 {
		o.MaxTags = 50_000
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.Define == nil {
		o.Define = func([]tags.Tag) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	g := newGraph(t.Read)
	s := &Service{opts: o, tags: t, graph: g, driver: &Driver{graph: g}, stored: make(map[string]Document),
		owner: make(map[string]string)}
	s.unwatch = t.Observe(g.inlet.observe)
	s.editing.Lock()
	defer s.editing.Unlock()
	if err := s.load(ctx); err != nil {
		s.unwatch()
		return nil, err
	}
	s.revision = t.Revision()
	return s, nil
}

// Close ends the computation.
func (s *Service) Close() { s.unwatch() }

// Driver returns the driver of the tags, to be added to the tag engine under [DriverID].
func (s *Service) Driver() *Driver { return s.driver }

// load takes over what the repository has, in place of what it had before.
func (s *Service) load(ctx context.Context) error {
	position, err := s.opts.Repository.Position(ctx)
	if err != nil {
		return err
	}
	docs, err := s.opts.Repository.Documents(ctx, Kind)
	if err != nil {
		return err
	}
	stored := make(map[string]Document, len(docs))
	var put []Definition
	kinds := make(map[string]tags.DataType)
	for _, doc := range docs {
		stored[doc.ID] = doc
		if s.stored[doc.ID].Revision == doc.Revision && s.stored[doc.ID].UpdatedAt.Equal(doc.UpdatedAt) {
			continue
		}
		var r record
		err := json.Unmarshal(doc.Body, &r)
		if err == nil && r.ID != doc.ID {
			err = errors.New("it has another id")
		}
		if err == nil {
			err = r.Validate()
		}
		if err != nil {
			s.opts.Logger.Error("derived tag left out: its definition cannot be read", "id", doc.ID, "error", err)
			continue
		}
		put, kinds[r.ID] = append(put, r.Definition), r.Kind
	}
	var remove []string
	for id := range s.stored {
		if _, ok := stored[id]; !ok {
			remove = append(remove, id)
		}
	}
	for path := cycle(s.uses(put), s.inputs); path != nil; path = cycle(s.uses(put), s.inputs) { // two engines have added a half each
		s.opts.Logger.Error("derived tags left out: they depend on themselves", "cycle", path)
		put = slices.DeleteFunc(put, func(d Definition) bool { return slices.Contains(path, d.ID) })
	}
	s.graph.change(put, kinds, remove)
	s.mu.Lock()
	s.stored, s.position = stored, position
	s.mu.Unlock()
	return s.define()
}

// uses returns the inputs of definitions by id.
func (s *Service) uses(list []Definition) map[string][]string {
	all := make(map[string][]string, len(list))
	for i := range list {
		all[list[i].ID] = list[i].inputs()
	}
	return all
}

// inputs returns the names of the tags that a definition mentions.
func (d *Definition) inputs() []string {
	if d.Target != "" {
		return []string{d.Target}
	}
	names, _ := inputsOf(d.Expression)
	return names
}

// inputs returns the inputs of a definition in force.
func (s *Service) inputs(id string) []string {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	n := s.graph.nodes[id]
	if n == nil {
		return nil
	}
	return n.names()
}

func (n *node) names() []string {
	names := make([]string, len(n.inputs))
	for i, in := range n.inputs {
		names[i] = in.name
	}
	return names
}

// define gives the tags to Options.Define if they have changed. editing is held.
func (s *Service) define() error {
	list := s.graph.tags(s.driver)
	if slices.EqualFunc(list, s.defined, func(a, b tags.Tag) bool { return same(&a, &b) }) {
		return nil
	}
	if err := s.opts.Define(list); err != nil {
		return err
	}
	s.defined = list
	return nil
}

// defineOne is define after the change of one definition. It looks at all if aliases stand for that one.
func (s *Service) defineOne(id string) error {
	t, ok, followed := s.graph.one(id, s.driver)
	if followed {
		return s.define()
	}
	at, found := slices.BinarySearchFunc(s.defined, id, func(t tags.Tag, id string) int { return strings.Compare(t.Name, id) })
	if found && ok && same(&s.defined[at], &t) || !found && !ok {
		return nil
	}
	list := slices.Clone(s.defined)
	switch {
	case !ok:
		list = slices.Delete(list, at, at+1)
	case found:
		list[at] = t
	default:
		list = slices.Insert(list, at, t)
	}
	if err := s.opts.Define(list); err != nil {
		return err
	}
	s.defined = list
	return nil
}

// one returns the tag of a definition, if there is one, and whether aliases follow it.
func (g *graph) one(id string, d *Driver) (t tags.Tag, ok, followed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if in := g.sources[id]; in != nil {
		for u := range in.users {
			followed = followed || u.def.Target != ""
		}
	}
	n := g.nodes[id]
	if n == nil || n.def.Target == "" {
		d.targets.Delete(id)
	} else {
		d.targets.Store(id, n.def.Target)
	}
	if n != nil {
		t, ok = g.tag(n, make(map[string]tags.Tag))
	}
	return t, ok, followed
}

func same(a, b *tags.Tag) bool {
	x, y := *a, *b
	number := func(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
	if !number(x.Min, y.Min) || !number(x.Max, y.Max) {
		return false
	}
	x.Min, x.Max, y.Min, y.Max = nil, nil, nil, nil
	return x == y
}

// tags returns the tags of all definitions by name, and notes where writes of aliases go.
func (g *graph) tags(d *Driver) []tags.Tag {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]tags.Tag, 0, len(g.nodes))
	known := make(map[string]tags.Tag)
	for _, id := range slices.Sorted(maps.Keys(g.nodes)) {
		n := g.nodes[id]
		if t, ok := g.tag(n, known); ok {
			list = append(list, t)
		}
		if n.def.Target != "" {
			d.targets.Store(id, n.def.Target)
		} else {
			d.targets.Delete(id)
		}
	}
	d.targets.Range(func(id, _ any) bool {
		if g.nodes[id.(string)] == nil {
			d.targets.Delete(id)
		}
		return true
	})
	return list
}

// retype gives a definition the type that has become known. The lock is held.
func (g *graph) retype(n *node, kind tags.DataType) {
	n.kind = kind
	n.src.state = state{kind: kind}
	g.compile(n)
	for u := range n.src.users {
		g.compile(u)
	}
	g.inlet.wake.Set()
}

// tag returns the tag of a definition, and false for one whose type is not known, because an input has never been seen.
func (g *graph) tag(n *node, known map[string]tags.Tag) (tags.Tag, bool) {
	t := tags.Tag{Name: n.def.ID, Driver: DriverID, Address: n.def.ID, DataType: n.kind, Access: tags.ReadOnly, Scale: 1,
		Unit: n.def.Unit, Description: n.def.Description, Min: n.def.Min, Max: n.def.Max, Deadband: tags.Deadband{Absolute: n.def.Deadband}}
	if n.def.Target == "" {
		if n.kind == "" { // the types of its inputs were not known when it was put
			if p, err := compile(n.def.Expression, g.kind); err == nil && p.result != "" {
				g.retype(n, p.result)
				t.DataType = n.kind
			}
		}
		return t, n.kind != ""
	}
	if t, ok := known[n.def.ID]; ok {
		return t, t.DataType != ""
	}
	if target, ok := g.target(n, known); ok {
		if n.def.DataType == "" && n.kind != target.DataType {
			g.retype(n, target.DataType)
		}
		t.DataType, t.Access, t.Min, t.Max, t.Confirm = n.kind, target.Access, target.Min, target.Max, target.Confirm
		if t.Unit == "" {
			t.Unit = target.Unit
		}
		if t.Description == "" {
			t.Description = target.Description
		}
	}
	known[n.def.ID] = t
	return t, t.DataType != ""
}

func (g *graph) target(n *node, known map[string]tags.Tag) (tags.Tag, bool) {
	if to := g.nodes[n.def.Target]; to != nil {
		return g.tag(to, known)
	}
	snapshot, err := g.read(n.def.Target)
	if err != nil {
		return tags.Tag{}, false
	}
	return *snapshot.Tag, true
}

// Follow keeps the definitions in step with the tags that they use, and with what other engines that share the repository have changed,
// until ctx ends.
func (s *Service) Follow(ctx context.Context) {
	ticker := time.NewTicker(s.opts.Interval)
	defer ticker.Stop()
	failed := ""
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		err := s.follow(ctx)
		switch {
		case err == nil:
			failed = ""
		case ctx.Err() == nil && err.Error() != failed:
			failed = err.Error()
			s.opts.Logger.Warn("failed to follow changes of derived tags; retrying", "error", err)
		}
	}
}

func (s *Service) follow(ctx context.Context) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	if revision := s.tags.Revision(); revision != s.revision || s.late {
		s.graph.lookAgain()
		if err := s.define(); err != nil {
			return err
		}
		s.revision, s.late = revision, false
	}
	position, err := s.opts.Repository.Position(ctx)
	if err != nil || position == s.position {
		return err
	}
	return s.load(ctx)
}

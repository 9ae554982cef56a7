package derived

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Precondition is asked with the revision that a definition has now, 0 if there is none; an error refuses the change. nil for none.
type Precondition func(revision int64) error

func (p Precondition) check(revision int64) error {
	if p == nil {
		return nil
	}
	return p(revision)
}

// Create adds a definition. Its inputs must exist unless allowMissing is set. The errors are [ErrInvalid], [ErrCycle], [ErrExists]
// if there is a tag of that name, and [ErrTooMany].
func (s *Service) Create(ctx context.Context, d Definition, allowMissing bool) (Stored, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	if err := d.Validate(); err != nil {
		return Stored{}, err
	}
	if _, err := s.tags.Read(d.ID); err == nil || s.Has(d.ID) {
		return Stored{}, ErrExists.On("tagName", d.ID)
	}
	return s.put(ctx, d, 0, allowMissing)
}

// Replace replaces a definition. The errors are those of Create, [ErrNotFound], and [ErrOwned] for one of a template.
func (s *Service) Replace(ctx context.Context, d Definition, allowMissing bool, must Precondition) (Stored, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	now, err := s.own(d.ID)
	if err != nil {
		return Stored{}, err
	}
	if err := must.check(now.Revision); err != nil {
		return Stored{}, err
	}
	if err := d.Validate(); err != nil {
		return Stored{}, err
	}
	return s.put(ctx, d, now.Revision, allowMissing)
}

// Delete removes a definition and its tag. Who uses the tag sees it as removed. The errors are [ErrNotFound] and [ErrOwned].
func (s *Service) Delete(ctx context.Context, id string, must Precondition) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	now, err := s.own(id)
	if err != nil {
		return err
	}
	if err := must.check(now.Revision); err != nil {
		return err
	}
	position, err := s.opts.Repository.Change(ctx, nil, []Document{now})
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.stored, id)
	s.position = position
	s.mu.Unlock()
	s.graph.change(nil, nil, []string{id})
	if err := s.defineOne(id); err != nil { // it is removed all the same
		s.late = true
		s.opts.Logger.Warn("failed to remove a derived tag from the tag engine; retrying", "id", id, "error", err)
	}
	return nil
}

// Has reports whether there is a definition of that id, also one that was left out because it cannot be used.
func (s *Service) Has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.stored[id]
	return ok || s.owner[id] != ""
}

// own returns the document of a definition without an owner.
func (s *Service) own(id string) (Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	doc, ok := s.stored[id]
	switch {
	case s.owner[id] != "":
		return doc, ErrOwned.On("id", id).With("owner", s.owner[id])
	case !ok:
		return doc, ErrNotFound.On("id", id)
	}
	return doc, nil
}

// put checks, stores and applies a definition. editing is held.
func (s *Service) put(ctx context.Context, d Definition, revision int64, allowMissing bool) (Stored, error) {
	if revision == 0 {
		if err := s.room(1); err != nil {
			return Stored{}, err
		}
	}
	list := []Definition{d}
	kinds, err := s.check(list, nil, allowMissing, nil)
	if err != nil {
		return Stored{}, err
	}
	body, err := json.Marshal(record{d, kinds[d.ID]})
	if err != nil {
		return Stored{}, err
	}
	now := s.opts.Now().UTC()
	doc := Document{Kind: Kind, ID: d.ID, Revision: revision + 1, Body: body, CreatedAt: now, UpdatedAt: now}
	position, err := s.opts.Repository.Change(ctx, []Document{doc}, nil)
	if err != nil {
		return Stored{}, err
	}
	s.mu.Lock()
	old, replaced := s.stored[d.ID]
	if replaced {
		doc.CreatedAt = old.CreatedAt
	}
	s.stored[d.ID], s.position = doc, position
	s.mu.Unlock()
	was := s.graph.save(list, nil)
	s.graph.change(list, kinds, nil)
	if err := s.defineOne(d.ID); err != nil {
		return Stored{}, errors.Join(err, s.takeBack(ctx, doc, old, was))
	}
	return s.Get(d.ID)
}

// takeBack puts what there was in the place of a definition whose tag cannot be defined: old, or nothing. If that cannot be stored, the
// definition stays, and Follow defines its tag as soon as it can.
func (s *Service) takeBack(ctx context.Context, doc, old Document, was saved) error {
	var put, remove []Document
	if old.ID == "" {
		remove = []Document{doc}
	} else {
		old.Revision = doc.Revision + 1
		put = []Document{old}
	}
	position, err := s.opts.Repository.Change(context.WithoutCancel(ctx), put, remove)
	if err != nil {
		s.late = true
		return err
	}
	s.mu.Lock()
	if delete(s.stored, doc.ID); put != nil {
		s.stored[doc.ID] = old
	}
	s.position = position
	s.mu.Unlock()
	s.restore(was)
	return nil
}

// restore takes a change back that is not defined. Aliases go to their old targets again.
func (s *Service) restore(was saved) {
	s.graph.change(was.put, was.kinds, was.fresh)
	s.graph.tags(s.driver)
}

func (s *Service) room(more int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.stored)+len(s.owner)+more > s.opts.MaxTags {
		return ErrTooMany.Because("there may be %d", s.opts.MaxTags)
	}
	return nil
}

// check checks definitions that are to be put, beside those that stay, and returns their types. failed is as in SetOwned, for types that
// do not fit; the type is then that of the definition, which may be empty.
func (s *Service) check(list []Definition, remove []string, allowMissing bool, failed func(id string, err error) error) (map[string]tags.DataType, error) {
	put := make(map[string]*Definition, len(list))
	uses := make(map[string][]string, len(list)+len(remove))
	for _, id := range remove {
		uses[id] = nil
	}
	for i := range list {
		d := &list[i]
		if put[d.ID] != nil {
			return nil, invalid(d.ID, "id", "is there twice")
		}
		put[d.ID] = d
		if d.Target != "" {
			uses[d.ID] = []string{d.Target}
			continue
		}
		names, err := inputsOf(d.Expression)
		if err != nil && failed == nil { // or else the resolver says it
			return nil, invalid(d.ID, "expression", "%s", err)
		}
		uses[d.ID] = names
	}
	if path := cycle(uses, s.inputs); path != nil {
		return nil, ErrCycle.Because("%s", strings.Join(path, " → "))
	}
	c := resolver{service: s, put: put, removed: remove, kinds: make(map[string]tags.DataType, len(list)), unfit: func(_ string, err error) error { return err }}
	if failed != nil {
		c.unfit = failed
	}
	for i := range list {
		if err := c.resolve(&list[i], allowMissing, uses[list[i].ID]); err != nil {
			return nil, err
		}
	}
	return c.kinds, nil
}

// resolver finds the types of definitions that depend on each other, but not in a circle.
type resolver struct {
	service *Service
	put     map[string]*Definition
	removed []string
	kinds   map[string]tags.DataType
	unfit   func(id string, err error) error
	failed  error
}

// kind returns the type of a tag and whether there is one.
func (c *resolver) kind(name string) (tags.DataType, bool) {
	if d := c.put[name]; d != nil {
		if _, ok := c.kinds[name]; !ok {
			if err := c.resolve(d, true, nil); err != nil && c.failed == nil {
				c.failed = err
			}
		}
		return c.kinds[name], true
	}
	if slices.Contains(c.removed, name) {
		return "", false
	}
	g := c.service.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	kind := g.kind(name)
	_, err := g.read(name)
	return kind, err == nil || g.nodes[name] != nil
}

// resolve sets the type of a definition.
func (c *resolver) resolve(d *Definition, allowMissing bool, inputs []string) error {
	err := c.find(d, allowMissing, inputs)
	if err == nil || c.failed != nil {
		return err
	}
	if err = c.unfit(d.ID, err); err == nil {
		c.kinds[d.ID] = d.DataType
	}
	return err
}

func (c *resolver) find(d *Definition, allowMissing bool, inputs []string) error {
	field := "expression"
	if d.Target != "" {
		field = "target"
	}
	for _, name := range inputs {
		if _, ok := c.kind(name); !ok && !allowMissing {
			return invalid(d.ID, field, "tag %q does not exist", name)
		}
	}
	if _, ok := c.kinds[d.ID]; ok {
		return c.failed
	}
	if d.Target != "" {
		kind, _ := c.kind(d.Target)
		if d.DataType != "" && kind != "" && kind != d.DataType {
			return invalid(d.ID, "dataType", "must be that of the target, %s", kind)
		}
		c.kinds[d.ID] = cmp.Or(d.DataType, kind)
		return c.failed
	}
	p, err := compile(d.Expression, func(name string) tags.DataType {
		kind, _ := c.kind(name)
		return kind
	})
	if err != nil {
		return invalid(d.ID, "expression", "%s", err)
	}
	switch have, want := p.result, d.DataType; {
	case want == "" && have == "":
		return invalid(d.ID, "dataType", "is required: the type of the result is not known")
	case want == "" || have == "" || want == have, want == tags.Float && have == tags.Int:
		c.kinds[d.ID] = cmp.Or(want, have)
		return c.failed
	case want == tags.Int && have == tags.Float:
		return invalid(d.ID, "dataType", "the result is a Float; use round, floor, ceil or int to make it an Int")
	default:
		return invalid(d.ID, "dataType", "the result is a %s, not a %s", have, want)
	}
}

// Result is what a definition gives at present.
type Result struct {
	Kind    tags.DataType
	Sample  tags.Sample
	Message string // why it is Bad
	Inputs  []string
}

// Try evaluates a definition once, without storing it. Functions of the last change are Bad.
func (s *Service) Try(d Definition) (Result, error) {
	d.ID = cmp.Or(d.ID, "(try)")
	if err := d.Validate(); err != nil {
		return Result{}, err
	}
	kinds, err := s.check([]Definition{d}, nil, false, nil)
	if err != nil {
		return Result{}, err
	}
	g := newGraph(s.tags.Read)
	g.change([]Definition{d}, kinds, nil)
	g.pass()
	n := g.nodes[d.ID]
	state := &n.src.state
	return Result{Kind: n.kind, Message: n.message, Inputs: n.names(), Sample: tags.Sample{Value: state.value, Quality: state.quality, Reason: state.reason,
		SourceTime: state.at, ServerTime: s.opts.Now()}}, nil
}

// Get returns a definition, or [ErrNotFound].
func (s *Service) Get(id string) (Stored, error) {
	s.graph.mu.Lock()
	n := s.graph.nodes[id]
	if n == nil {
		s.graph.mu.Unlock()
		return Stored{}, ErrNotFound.On("id", id)
	}
	found := Stored{Definition: n.def, Kind: n.kind, Inputs: n.names(), Message: n.message, Access: tags.ReadOnly}
	s.graph.mu.Unlock()
	if d := found.Definition; d.Target != "" {
		if snapshot, err := s.tags.Read(id); err == nil {
			found.Access = snapshot.Tag.Access
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	doc := s.stored[id]
	found.Owner, found.Revision, found.CreatedAt, found.UpdatedAt = s.owner[id], doc.Revision, doc.CreatedAt, doc.UpdatedAt
	return found, nil
}

// ListQuery selects and pages definitions.
type ListQuery struct {
	Input    string // those that use this tag; empty for all
	Page     int    // from 1; 0 counts as 1
	PageSize int    // 1..500; 0 counts as 50
}

// Page is one page of a list.
type Page struct {
	Items []Stored
	Total int
}

// List returns a page of definitions by id.
func (s *Service) List(q ListQuery) (Page, error) {
	page, size := cmp.Or(q.Page, 1), cmp.Or(q.PageSize, tags.DefaultPageSize)
	switch {
	case size > tags.MaxPageSize:
		return Page{}, tags.ErrPageSizeExceeded.Because("at most %d", tags.MaxPageSize)
	case page < 1 || size < 1:
		return Page{}, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "page", Message: "page and pageSize must be at least 1"})
	}
	var ids []string
	s.graph.mu.Lock()
	if q.Input == "" {
		ids = slices.Collect(maps.Keys(s.graph.nodes))
	} else if in := s.graph.sources[q.Input]; in != nil {
		for n := range in.users {
			ids = append(ids, n.def.ID)
		}
	}
	s.graph.mu.Unlock()
	slices.Sort(ids)
	found := Page{Total: len(ids)}
	if page-1 > len(ids)/size {
		return found, nil
	}
	from := (page - 1) * size
	for _, id := range ids[from:min(from+size, len(ids))] {
		if d, err := s.Get(id); err == nil {
			found.Items = append(found.Items, d)
		}
	}
	return found, nil
}

// Users returns the ids of definitions that use a tag.
func (s *Service) Users(tagID string) (ids []string) {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	if in := s.graph.sources[tagID]; in != nil {
		for n := range in.users {
			ids = append(ids, n.def.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Count returns how many definitions there are, and of these how many are Bad because of themselves: an input is missing or the
// types do not fit.
func (s *Service) Count() (all, faulty int) {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	for _, n := range s.graph.nodes {
		if n.src.state.quality == tags.Bad && n.src.state.reason == tags.ReasonConfig {
			faulty++
		}
	}
	return len(s.graph.nodes), faulty
}

// Owned is a definition that somebody else stores, such as an instance of a template.
type Owned struct {
	Definition
	Owner string // for people
}

// CheckOwned returns why definitions cannot take the place of those that were given to SetOwned before. failed is as in SetOwned.
func (s *Service) CheckOwned(list []Owned, failed func(id string, err error) error) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	_, err := s.checkOwned(list, failed)
	return err
}

// SetOwned replaces the definitions that were given to it before. They are not stored here. Missing inputs are allowed. failed is asked
// what an error of one ends with: if it returns nil, the definition is left out, or is Bad where only the types of its inputs do not fit.
// Nil for failed ends with any. The errors are those of Create; nothing has changed then.
func (s *Service) SetOwned(list []Owned, failed func(id string, err error) error) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	p, err := s.checkOwned(list, failed)
	if err != nil {
		return err
	}
	owner := s.setOwner(p.owner)
	if len(p.changed) == 0 && len(p.gone) == 0 {
		return nil
	}
	was := s.graph.save(p.changed, p.gone)
	s.graph.change(p.changed, p.kinds, p.gone)
	if err = s.define(); err != nil {
		s.restore(was)
		s.setOwner(owner)
	}
	return err
}

// setOwner sets who has definitions, by id, and returns what there was before.
func (s *Service) setOwner(owner map[string]string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.owner
	s.owner = owner
	return was
}

func (s *Service) inForce(d *Definition) bool {
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	n := s.graph.nodes[d.ID]
	if n == nil {
		return false
	}
	x, y := n.def, *d
	number := func(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
	if !number(x.Min, y.Min) || !number(x.Max, y.Max) {
		return false
	}
	x.Min, x.Max, y.Min, y.Max = nil, nil, nil, nil
	return x == y
}

// ownedPlan is what SetOwned does.
type ownedPlan struct {
	owner   map[string]string // of each definition
	changed []Definition      // that are not in force
	kinds   map[string]tags.DataType
	gone    []string
}

func (s *Service) checkOwned(owned []Owned, failed func(id string, err error) error) (p ownedPlan, err error) {
	if failed == nil {
		failed = func(_ string, err error) error { return err }
	}
	p.owner = make(map[string]string, len(owned))
	for i := range owned {
		d := &owned[i].Definition
		if err := s.mayOwn(d, p.owner); err != nil {
			if err = failed(d.ID, err); err != nil {
				return p, err
			}
			continue
		}
		p.owner[d.ID] = owned[i].Owner
		if !s.inForce(d) {
			p.changed = append(p.changed, *d)
		}
	}
	for path := s.cycle(p.changed); path != nil; path = s.cycle(p.changed) {
		for _, id := range path {
			if err := failed(id, ErrCycle.Because("%s", strings.Join(path, " → "))); err != nil {
				return p, err
			}
		}
		p.changed = slices.DeleteFunc(p.changed, func(d Definition) bool { return slices.Contains(path, d.ID) })
		for _, id := range path {
			delete(p.owner, id)
		}
	}
	s.mu.Lock()
	for id := range s.owner {
		if _, stays := p.owner[id]; !stays {
			p.gone = append(p.gone, id)
		}
	}
	more := len(p.owner) - len(s.owner)
	s.mu.Unlock()
	if more > 0 {
		if err := s.room(more); err != nil {
			return p, err
		}
	}
	p.kinds, err = s.check(p.changed, p.gone, true, failed)
	return p, err
}

// mayOwn returns why somebody else cannot have a definition, beside those that have an owner already.
func (s *Service) mayOwn(d *Definition, owner map[string]string) error {
	if err := d.Validate(); err != nil {
		return err
	}
	if _, twice := owner[d.ID]; twice {
		return invalid(d.ID, "id", "is there twice")
	}
	s.mu.Lock()
	_, own := s.stored[d.ID]
	s.mu.Unlock()
	if own {
		return ErrExists.On("tagName", d.ID)
	}
	if snapshot, err := s.tags.Read(d.ID); err == nil && snapshot.Tag.Driver != DriverID {
		return ErrExists.On("tagName", d.ID).With("driverId", snapshot.Tag.Driver)
	}
	return nil
}

// cycle returns a circle among definitions and those that are in force, if there is one.
func (s *Service) cycle(list []Definition) []string {
	if len(list) == 0 {
		return nil
	}
	return cycle(s.uses(list), s.inputs)
}

// String shows where a definition comes from, for logs.
func (d Definition) String() string {
	if d.Target != "" {
		return fmt.Sprintf("%s = alias of %s", d.ID, d.Target)
	}
	return fmt.Sprintf("%s = %s", d.ID, strings.TrimSpace(d.Expression))
}

package tagtemplate

import (
	"cmp"
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
	"github.com/otkit/otkit/tags/derived"
)

// The kinds of documents.
const (
	kindTemplate = "tag-template"
	kindInstance = "tag-template-instance" // its id is <template>/<instance>
)

// Derived is what a [Service] needs of the derived tags. A *derived.Service is a Derived.
type Derived interface {
	// CheckOwned returns why definitions cannot take the place of those that were given to SetOwned before.
	CheckOwned(list []derived.Owned, failed func(id string, err error) error) error
	// SetOwned replaces the definitions that were given to it before. failed is asked what an error of one ends with; nil leaves it out.
	SetOwned(list []derived.Owned, failed func(id string, err error) error) error
}

// Options configure a [Service]. The zero value works.
type Options struct {
	Repository derived.Repository // default: in memory
	// SetTags gets the tags of all instances when they have changed. Default: nothing happens with them.
	SetTags func(list []tags.Tag) error
	// Interval is how often it is looked for what other engines have changed. Default 1 s.
	Interval time.Duration

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards
}

// StoredTemplate is a template with its revision.
type StoredTemplate struct {
	Template
	Instances int
	Revision  int64
	UpdatedAt time.Time
}

// StoredInstance is an instance with its revision and the names of its tags.
type StoredInstance struct {
	Instance
	TemplateID string
	Tags       []string // of both kinds
	Revision   int64
	UpdatedAt  time.Time
}

// Plan is what an edit does to tags, by name.
type Plan struct{ Added, Changed, Removed []string }

// Service has the templates and their instances. Safe for concurrent use.
type Service struct {
	opts    Options
	derived Derived

	editing  sync.Mutex // held while something changes
	position int64      // of the repository
	now      rendered   // in force

	mu        sync.Mutex
	templates map[string]Template
	instances map[string]Instance // by <template>/<instance>
	docs      map[derived.Key]derived.Document
	made      map[string]rendered // what instances define
	late      error               // why their tags are not defined
}

// New opens the templates and defines the tags of their instances. Those that cannot be used are logged and left out.
func New(ctx context.Context, d Derived, o Options) (*Service, error) {
	if d == nil {
		return nil, fault.Option("tagtemplate", "derived", "is required")
	}
	if o.Interval < 0 {
		return nil, fault.Option("tagtemplate", "Options.Interval", "must not be negative")
	}
	if o.Repository == nil {
		o.Repository = derived.NewMemory()
	}
	if o.SetTags == nil {
		o.SetTags = func([]tags.Tag) error { return nil }
	}
	o.Interval = cmp.Or(o.Interval, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{opts: o, derived: d}
	s.editing.Lock()
	defer s.editing.Unlock()
	return s, s.load(ctx)
}

// load takes over what the repository has.
func (s *Service) load(ctx context.Context) error {
	position, err := s.opts.Repository.Position(ctx)
	if err != nil {
		return err
	}
	templates, err := s.opts.Repository.Documents(ctx, kindTemplate)
	if err != nil {
		return err
	}
	instances, err := s.opts.Repository.Documents(ctx, kindInstance)
	if err != nil {
		return err
	}
	next := s.copy()
	clear(next.templates)
	clear(next.instances)
	clear(next.docs)
	clear(next.made)
	for _, doc := range slices.Concat(templates, instances) {
		next.docs[derived.Key{Kind: doc.Kind, ID: doc.ID}] = doc
		var err error
		if doc.Kind == kindTemplate {
			var t Template
			if err = json.Unmarshal(doc.Body, &t); err == nil {
				next.templates[doc.ID] = t
			}
		} else {
			var in Instance
			if err = json.Unmarshal(doc.Body, &in); err == nil {
				next.instances[doc.ID] = in
			}
		}
		if err != nil {
			s.opts.Logger.Error("template left out: it cannot be read", "id", doc.ID, "error", err)
		}
	}
	all := next.render(func(id string, err error) error {
		s.opts.Logger.Error("instance of a template left out", "id", id, "error", err)
		return nil
	})
	leaveOut := func(id string, err error) error {
		s.opts.Logger.Error("derived tag of a template cannot be computed", "id", id, "error", err)
		return nil
	}
	s.take(next, position)
	if err := s.apply(all.rendered, leaveOut); err != nil {
		s.opts.Logger.Error("failed to define the tags of templates; retrying", "error", err)
		s.setLate(err)
	}
	return nil
}

func (s *Service) setLate(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = err
}

// Err returns why the tags of templates are not defined as they are stored, for a health check. Follow tries again.
func (s *Service) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late
}

// model is all templates and instances, to be changed before it comes into force.
type model struct {
	templates map[string]Template
	instances map[string]Instance
	docs      map[derived.Key]derived.Document
	made      map[string]rendered // without those that have to be rendered again
}

// forget has the instances of a template rendered again.
func (m *model) forget(template string) {
	maps.DeleteFunc(m.made, func(key string, _ rendered) bool { return strings.HasPrefix(key, template+"/") })
}

func (s *Service) copy() model {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := model{maps.Clone(s.templates), maps.Clone(s.instances), maps.Clone(s.docs), maps.Clone(s.made)}
	if m.templates == nil {
		m = model{map[string]Template{}, map[string]Instance{}, map[derived.Key]derived.Document{}, map[string]rendered{}}
	}
	return m
}

func (s *Service) take(m model, position int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.templates, s.instances, s.docs, s.made, s.position = m.templates, m.instances, m.docs, m.made, position
}

type outcome struct {
	rendered
	err error
}

// render renders all instances. failed is asked what an error of one ends with.
func (m *model) render(failed func(id string, err error) error) (all outcome) {
	seen := make(map[string]string)
	for _, id := range slices.Sorted(maps.Keys(m.instances)) {
		in := m.instances[id]
		template, _, _ := strings.Cut(id, "/")
		one, have := m.made[id]
		var err error
		if t, ok := m.templates[template]; !ok {
			err = ErrNotFound.On("templateId", template)
		} else if !have {
			err = t.render(&in, &one)
		}
		for _, name := range one.names() {
			if other := seen[name]; err == nil && other != "" {
				err = invalid("tags", "tag %q of instance %s is also one of %s", name, id, other)
			}
			seen[name] = id
		}
		if n := len(all.tags) + len(all.derived) + len(one.tags) + len(one.derived); err == nil && n > MaxRenderedTags {
			err = invalid("tags", "there may be no more than %d in all instances", MaxRenderedTags)
		}
		if err != nil {
			if all.err = failed(id, err); all.err != nil {
				return all
			}
			continue
		}
		m.made[id] = one
		all.tags, all.derived = append(all.tags, one.tags...), append(all.derived, one.derived...)
	}
	return all
}

func (r *rendered) names() []string {
	names := make([]string, 0, len(r.tags)+len(r.derived))
	for i := range r.tags {
		names = append(names, r.tags[i].Name)
	}
	for i := range r.derived {
		names = append(names, r.derived[i].ID)
	}
	return names
}

// apply brings tags into force, or nothing if it returns an error. editing is held.
func (s *Service) apply(next rendered, failed func(id string, err error) error) error {
	if err := s.opts.SetTags(next.tags); err != nil {
		return err
	}
	if err := s.derived.SetOwned(next.derived, failed); err != nil {
		back := s.opts.SetTags(s.now.tags)
		if back != nil {
			s.setLate(back)
		}
		return errors.Join(err, back)
	}
	s.now = next
	s.setLate(nil)
	return nil
}

// edit changes the model: change gets a copy of it and returns the documents that differ. With dryRun nothing comes into force.
func (s *Service) edit(ctx context.Context, dryRun bool, allow func(Plan) error, change func(m *model) (put, remove []derived.Document, err error)) (Plan, error) {
	s.editing.Lock()
	defer s.editing.Unlock()
	next := s.copy()
	before := s.made // replaced as a whole, and only while editing is held
	put, remove, err := change(&next)
	if err != nil {
		return Plan{}, err
	}
	kept := maps.Clone(next.made)
	all := next.render(func(_ string, err error) error { return err })
	if all.err != nil {
		return Plan{}, all.err
	}
	old, fresh := without(before, kept), without(next.made, kept)
	failed := fresh.refuse()
	if err := s.derived.CheckOwned(all.derived, failed); err != nil {
		return Plan{}, err
	}
	will := plan(old, fresh)
	if allow != nil {
		if err := allow(will); err != nil {
			return will, err
		}
	}
	if dryRun {
		return will, nil
	}
	now := s.opts.Now().UTC()
	for i := range put {
		put[i].CreatedAt, put[i].UpdatedAt = now, now
		next.docs[derived.Key{Kind: put[i].Kind, ID: put[i].ID}] = put[i]
	}
	for _, doc := range remove {
		delete(next.docs, derived.Key{Kind: doc.Kind, ID: doc.ID})
	}
	position, err := s.opts.Repository.Change(ctx, put, remove)
	if err != nil {
		return will, err
	}
	last := model{s.templates, s.instances, s.docs, s.made} // each is replaced as a whole
	s.take(next, position)
	if err := s.apply(all.rendered, failed); err != nil {
		return will, errors.Join(err, s.takeBack(ctx, last, put, remove, err))
	}
	return will, nil
}

// takeBack stores what there was before an edit whose tags cannot be defined. If that fails, the edit stays, and Follow defines its tags
// as soon as it can. editing is held.
func (s *Service) takeBack(ctx context.Context, last model, put, remove []derived.Document, cause error) error {
	var back, gone []derived.Document
	for _, doc := range put {
		old, ok := last.docs[derived.Key{Kind: doc.Kind, ID: doc.ID}]
		if !ok {
			gone = append(gone, doc)
			continue
		}
		old.Revision = doc.Revision + 1
		back = append(back, old)
	}
	for _, doc := range remove {
		doc.Revision = 1
		back = append(back, doc)
	}
	position, err := s.opts.Repository.Change(context.WithoutCancel(ctx), back, gone)
	if err != nil {
		s.setLate(cause)
		return err
	}
	last.docs = maps.Clone(last.docs)
	for _, doc := range back {
		last.docs[derived.Key{Kind: doc.Kind, ID: doc.ID}] = doc
	}
	s.take(last, position)
	return nil
}

// refuse returns what ends with an error of a derived tag: an edit that makes it. What was wrong before does not keep people from other
// edits.
func (r *rendered) refuse() func(id string, err error) error {
	made := make(map[string]bool, len(r.derived))
	for i := range r.derived {
		made[r.derived[i].ID] = true
	}
	return func(id string, err error) error {
		if made[id] {
			return err
		}
		return nil
	}
}

// without returns what is not kept, together.
func without(all, kept map[string]rendered) (r rendered) {
	for key, one := range all {
		if _, ok := kept[key]; !ok {
			r.tags, r.derived = append(r.tags, one.tags...), append(r.derived, one.derived...)
		}
	}
	return r
}

// texts returns what defines each tag.
func (r *rendered) texts() map[string]string {
	all := make(map[string]string, len(r.tags)+len(r.derived))
	for i := range r.tags {
		text, _ := json.Marshal(r.tags[i])
		all[r.tags[i].Name] = string(text)
	}
	for i := range r.derived {
		text, _ := json.Marshal(r.derived[i])
		all[r.derived[i].ID] = string(text)
	}
	return all
}

// plan compares the tags that instances defined with those that they will.
func plan(old, next rendered) (p Plan) {
	was, is := old.texts(), next.texts()
	for name, text := range is {
		if before, ok := was[name]; !ok {
			p.Added = append(p.Added, name)
		} else if before != text {
			p.Changed = append(p.Changed, name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			p.Removed = append(p.Removed, name)
		}
	}
	slices.Sort(p.Added)
	slices.Sort(p.Changed)
	slices.Sort(p.Removed)
	return p
}

// Edit is how an edit is made.
type Edit struct {
	DryRun bool                  // report only what would change
	Must   derived.Precondition  // about the revision of what is replaced or removed
	Allow  func(plan Plan) error // may refuse what the edit would do
}

func (e *Edit) must(revision int64) error {
	if e.Must == nil {
		return nil
	}
	return e.Must(revision)
}

// Create adds a template, or returns [ErrExists].
func (s *Service) Create(ctx context.Context, t Template, e Edit) (Plan, error) {
	return s.putTemplate(ctx, t, e, true)
}

// Replace replaces a template, or returns [ErrNotFound]. Its instances change with it.
func (s *Service) Replace(ctx context.Context, t Template, e Edit) (Plan, error) {
	return s.putTemplate(ctx, t, e, false)
}

func (s *Service) putTemplate(ctx context.Context, t Template, e Edit, fresh bool) (Plan, error) {
	if err := t.Validate(); err != nil {
		return Plan{}, err
	}
	body, err := json.Marshal(t)
	if err != nil {
		return Plan{}, invalid("tags", "cannot be encoded")
	}
	return s.edit(ctx, e.DryRun, e.Allow, func(m *model) (put, _ []derived.Document, err error) {
		was, known := m.docs[derived.Key{Kind: kindTemplate, ID: t.ID}]
		switch {
		case fresh && known:
			return nil, nil, ErrExists.On("templateId", t.ID)
		case !fresh && !known:
			return nil, nil, ErrNotFound.On("templateId", t.ID)
		}
		if err := e.must(was.Revision); err != nil {
			return nil, nil, err
		}
		if fresh && len(m.templates) >= MaxTemplates {
			return nil, nil, invalid("id", "there may be no more than %d templates", MaxTemplates)
		}
		m.templates[t.ID] = t
		m.forget(t.ID)
		return []derived.Document{{Kind: kindTemplate, ID: t.ID, Revision: was.Revision + 1, Body: body}}, nil, nil
	})
}

// Delete removes a template without instances, or returns [ErrInUse] or [ErrNotFound].
func (s *Service) Delete(ctx context.Context, id string, e Edit) error {
	_, err := s.edit(ctx, false, e.Allow, func(m *model) (_, remove []derived.Document, err error) {
		was, known := m.docs[derived.Key{Kind: kindTemplate, ID: id}]
		if !known {
			return nil, nil, ErrNotFound.On("templateId", id)
		}
		if err := e.must(was.Revision); err != nil {
			return nil, nil, err
		}
		for key := range m.instances {
			if strings.HasPrefix(key, id+"/") {
				return nil, nil, ErrInUse.On("templateId", id)
			}
		}
		delete(m.templates, id)
		return nil, []derived.Document{was}, nil
	})
	return err
}

// PutInstance adds an instance or replaces its values, and reports whether it was added.
func (s *Service) PutInstance(ctx context.Context, template string, in Instance, e Edit) (plan Plan, added bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return Plan{}, false, invalid("values", "cannot be encoded")
	}
	key := template + "/" + in.ID
	plan, err = s.edit(ctx, e.DryRun, e.Allow, func(m *model) (put, _ []derived.Document, err error) {
		if _, ok := m.templates[template]; !ok {
			return nil, nil, ErrNotFound.On("templateId", template)
		}
		was, known := m.docs[derived.Key{Kind: kindInstance, ID: key}]
		added = !known
		if err := e.must(was.Revision); err != nil {
			return nil, nil, err
		}
		if added && len(m.instances) >= MaxInstances {
			return nil, nil, invalid("id", "there may be no more than %d instances", MaxInstances)
		}
		m.instances[key] = in
		delete(m.made, key)
		return []derived.Document{{Kind: kindInstance, ID: key, Revision: was.Revision + 1, Body: body}}, nil, nil
	})
	return plan, added, err
}

// DeleteInstance removes an instance with its tags, or returns [ErrInstanceNotFound].
func (s *Service) DeleteInstance(ctx context.Context, template, id string, e Edit) error {
	_, err := s.edit(ctx, false, e.Allow, func(m *model) (_, remove []derived.Document, err error) {
		key := template + "/" + id
		was, known := m.docs[derived.Key{Kind: kindInstance, ID: key}]
		if !known {
			return nil, nil, ErrInstanceNotFound.On("instanceId", id)
		}
		if err := e.must(was.Revision); err != nil {
			return nil, nil, err
		}
		delete(m.instances, key)
		delete(m.made, key)
		return nil, []derived.Document{was}, nil
	})
	return err
}

// Templates returns all templates by id.
func (s *Service) Templates() []StoredTemplate {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]StoredTemplate, 0, len(s.templates))
	for _, id := range slices.Sorted(maps.Keys(s.templates)) {
		list = append(list, s.template(id))
	}
	return list
}

// Template returns a template, or [ErrNotFound].
func (s *Service) Template(id string) (StoredTemplate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.templates[id]; !ok {
		return StoredTemplate{}, ErrNotFound.On("templateId", id)
	}
	return s.template(id), nil
}

func (s *Service) template(id string) StoredTemplate {
	doc := s.docs[derived.Key{Kind: kindTemplate, ID: id}]
	t := StoredTemplate{Template: s.templates[id], Revision: doc.Revision, UpdatedAt: doc.UpdatedAt}
	for key := range s.instances {
		if strings.HasPrefix(key, id+"/") {
			t.Instances++
		}
	}
	return t
}

// Instances returns the instances of a template by id, or [ErrNotFound].
func (s *Service) Instances(template string) ([]StoredInstance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.templates[template]
	if !ok {
		return nil, ErrNotFound.On("templateId", template)
	}
	list := []StoredInstance{}
	for _, key := range slices.Sorted(maps.Keys(s.instances)) {
		if strings.HasPrefix(key, template+"/") {
			list = append(list, s.instance(&t, key))
		}
	}
	return list, nil
}

// Instance returns an instance, or [ErrNotFound] or [ErrInstanceNotFound].
func (s *Service) Instance(template, id string) (StoredInstance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.templates[template]
	if !ok {
		return StoredInstance{}, ErrNotFound.On("templateId", template)
	}
	key := template + "/" + id
	if _, ok := s.instances[key]; !ok {
		return StoredInstance{}, ErrInstanceNotFound.On("instanceId", id)
	}
	return s.instance(&t, key), nil
}

func (s *Service) instance(t *Template, key string) StoredInstance {
	doc := s.docs[derived.Key{Kind: kindInstance, ID: key}]
	in, own := s.instances[key], s.made[key]
	return StoredInstance{Instance: in, TemplateID: t.ID, Tags: own.names(), Revision: doc.Revision, UpdatedAt: doc.UpdatedAt}
}

// Follow takes over what other engines that share the repository have changed, until ctx ends.
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
			s.opts.Logger.Warn("failed to follow changes of templates; retrying", "error", err)
		}
	}
}

func (s *Service) follow(ctx context.Context) error {
	s.editing.Lock()
	defer s.editing.Unlock()
	position, err := s.opts.Repository.Position(ctx)
	if err != nil {
		return err
	}
	if position != s.position {
		return s.load(ctx)
	}
	if s.Err() == nil {
		return nil
	}
	next := s.copy()
	leaveOut := func(string, error) error { return nil }
	err = s.apply(next.render(leaveOut).rendered, leaveOut)
	if err != nil {
		s.setLate(err)
	}
	return err
}

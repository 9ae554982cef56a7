package repository

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Memory is a [Store] that forgets everything when the process ends. Safe for concurrent use.
type Memory struct {
	mu    sync.RWMutex
	kinds [KindPackage + 1]memoryKind
	files map[memoryID]map[string]StoredFile
}

type memoryID struct {
	kind Kind
	id   string
}

// memoryKind has the documents of one kind.
type memoryKind struct {
	documents map[string]*memoryDocument
	ids       idList
	names     map[string]*idList // by idShort
	terms     map[Term]*idList
}

// memoryDocument is one version of a document. It is never altered.
type memoryDocument struct {
	Document
	lower string // idShort in lower case
}

var _ Store = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	m := &Memory{files: make(map[memoryID]map[string]StoredFile)}
	for i := range m.kinds {
		m.kinds[i] = memoryKind{documents: make(map[string]*memoryDocument), names: make(map[string]*idList), terms: make(map[Term]*idList)}
	}
	return m
}

// kind returns the documents of a kind; there are none of a number that is no kind.
func (m *Memory) kind(k Kind) *memoryKind {
	if int(k) >= len(m.kinds) {
		k = 0
	}
	return &m.kinds[k]
}

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, kind Kind, ids ...string) ([]Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, errCanceled.Wrap(err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	k := m.kind(kind)
	list := make([]Document, 0, len(ids))
	var seen map[string]bool
	if len(ids) > 1 {
		seen = make(map[string]bool, len(ids))
	}
	for _, id := range ids {
		d := k.documents[id]
		if d == nil || seen[id] {
			continue
		}
		if seen != nil {
			seen[id] = true
		}
		list = append(list, d.read(false))
	}
	return list, nil
}

func (d *memoryDocument) read(withoutJSON bool) Document {
	out := d.Document
	out.Terms = nil
	if withoutJSON {
		out.JSON = nil
	}
	return out
}

// Find implements [Store].
func (m *Memory) Find(ctx context.Context, q Query) (Page, error) {
	if err := ctx.Err(); err != nil {
		return Page{}, errCanceled.Wrap(err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var (
		page    Page
		k       = m.kind(q.Kind)
		part    = strings.ToLower(q.Contains)
		list    = k.narrowest(&q)
		skip    = q.Offset
		room    = q.room()
		narrows = q.IDShort != "" || part != "" || len(q.Terms) > 0 || q.Linked != nil
	)
	if list == nil {
		return page, nil
	}
	if !narrows {
		if q.Count {
			page.Total = list.len()
		}
		q.Count = false
	}
	n := 0
	list.walk(q.After, q.Count, func(id string, above bool) bool {
		if n++; n%1000 == 0 && ctx.Err() != nil {
			return false
		}
		d := k.documents[id]
		if narrows && !m.matches(d, &q, part) {
			return true
		}
		if q.Count {
			page.Total++
		}
		switch {
		case !above:
		case skip > 0:
			skip--
		case len(page.Documents) < q.Limit && room > 0:
			page.Documents = append(page.Documents, d.read(q.WithoutJSON))
			room -= int64(len(d.JSON))
		default:
			page.More = true
			return q.Count
		}
		return true
	}, func(size int) bool { // a run of ids that can be skipped unread
		if narrows || skip < size {
			return false
		}
		skip -= size
		return true
	})
	if err := ctx.Err(); err != nil {
		return Page{}, errCanceled.Wrap(err)
	}
	return page, nil
}

// narrowest returns the shortest list that has all that a query selects; nil when it selects nothing.
func (k *memoryKind) narrowest(q *Query) *idList {
	best := &k.ids
	if q.IDShort != "" {
		best = k.names[q.IDShort]
	}
	for _, t := range q.Terms {
		list := k.terms[t]
		if best == nil || list == nil {
			return nil
		}
		if list.len() < best.len() {
			best = list
		}
	}
	return best
}

func (m *Memory) matches(d *memoryDocument, q *Query, part string) bool {
	if q.IDShort != "" && d.IDShort != q.IDShort || part != "" && !strings.Contains(d.lower, part) {
		return false
	}
	for _, t := range q.Terms {
		if !slices.Contains(d.Terms, t) {
			return false
		}
	}
	if q.Linked == nil {
		return true
	}
	ends := m.kind(q.Linked.Kind).documents
	for _, t := range d.Terms {
		if t.Name != q.Linked.Name {
			continue
		}
		if end := ends[t.Value]; end != nil && slices.Contains(end.Terms, q.Linked.Term) {
			return true
		}
	}
	return false
}

// Write implements [Store].
func (m *Memory) Write(ctx context.Context, b Batch) ([]uint64, error) {
	if err := ctx.Err(); err != nil {
		return nil, errCanceled.Wrap(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	versions := make([]uint64, len(b.Changes))
	for i := range b.Changes {
		c := &b.Changes[i]
		var version uint64
		if old := m.kind(c.Document.Kind).documents[c.Document.ID]; old != nil {
			version = old.Version
		}
		if w := c.Match; w.Absent && version != 0 || w.Exists && version == 0 || w.Version != 0 && w.Version != version {
			return nil, &MismatchError{Index: i, Version: version}
		}
		versions[i] = c.Next(version)
	}
	for i := range b.Changes {
		m.put(&b.Changes[i], versions[i])
	}
	for _, key := range b.Remove {
		of := m.files[memoryID{key.Kind, key.ID}]
		if delete(of, key.Name); key.Name == "" || len(of) == 0 {
			delete(m.files, memoryID{key.Kind, key.ID})
		}
	}
	for _, f := range b.Files {
		at := memoryID{f.Key.Kind, f.Key.ID}
		if m.files[at] == nil {
			m.files[at] = make(map[string]StoredFile)
		}
		m.files[at][f.Key.Name] = f
	}
	return versions, nil
}

func (m *Memory) put(c *Change, version uint64) {
	k := m.kind(c.Document.Kind)
	id := c.Document.ID
	old := k.documents[id]
	if c.Delete {
		if old != nil {
			k.unlist(old)
			k.ids.remove(id)
			delete(k.documents, id)
		}
		delete(m.files, memoryID{c.Document.Kind, id})
		return
	}
	d := &memoryDocument{Document: c.Document, lower: strings.ToLower(c.Document.IDShort)}
	d.Version = version
	k.documents[id] = d
	if old != nil && old.IDShort == d.IDShort && slices.Equal(old.Terms, d.Terms) {
		return
	}
	d.Terms = slices.Clone(d.Terms)
	if old == nil {
		k.ids.insert(id)
	} else {
		k.unlist(old)
	}
	insertID(k.names, d.IDShort, id)
	for _, t := range d.Terms {
		insertID(k.terms, t, id)
	}
}

// unlist takes a document out of the lists by name and by term.
func (k *memoryKind) unlist(d *memoryDocument) {
	removeID(k.names, d.IDShort, d.ID)
	for _, t := range d.Terms {
		removeID(k.terms, t, d.ID)
	}
}

func insertID[K comparable](lists map[K]*idList, key K, id string) {
	list := lists[key]
	if list == nil {
		list = new(idList)
		lists[key] = list
	}
	list.insert(id)
}

func removeID[K comparable](lists map[K]*idList, key K, id string) {
	if list := lists[key]; list != nil {
		if list.remove(id); list.len() == 0 {
			delete(lists, key)
		}
	}
}

// File implements [Store].
func (m *Memory) File(ctx context.Context, key FileKey) (StoredFile, error) {
	if err := ctx.Err(); err != nil {
		return StoredFile{}, errCanceled.Wrap(err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	f, ok := m.files[memoryID{key.Kind, key.ID}][key.Name]
	if !ok {
		return StoredFile{}, ErrFileNotFound.On("name", key.Name)
	}
	return f, nil
}

// FileNames implements [Store].
func (m *Memory) FileNames(ctx context.Context, kind Kind, id string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, errCanceled.Wrap(err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for name := range m.files[memoryID{kind, id}] {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

package alarms

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/internal/ranked"
)

// memoryKept is how many inactive occurrences, events and resolutions a Memory retains.
const memoryKept = 200_000

// Memory is a [Store] in memory with all optional interfaces. It retains 200,000 inactive occurrences, events and
// resolutions each, and removes the oldest beyond that. It is safe for concurrent use; a change function must not call
// the same Memory.
type Memory struct {
	mu          sync.RWMutex
	conditions  map[int64]*Condition // Last is nil here
	newest      map[int64]*memorySlot
	codes       map[string]int64
	code        int64 // last assigned
	occurrences map[string]*memorySlot
	list        *ranked.List[*memorySlot] // ascending by Position
	events      []Event
	seq         int64 // last assigned
	resolutions []Resolution
	resolution  int64 // last assigned

	kept func() []string // keys of conditions that Trim keeps
}

// memorySlot has the newest version of an occurrence. Versions never change.
type memorySlot struct{ o *Occurrence }

var (
	_ Store           = (*Memory)(nil)
	_ CodeLister      = (*Memory)(nil)
	_ EventLister     = (*Memory)(nil)
	_ Statistics      = (*Memory)(nil)
	_ Trimmer         = (*Memory)(nil)
	_ ResolutionStore = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		conditions: make(map[int64]*Condition), newest: make(map[int64]*memorySlot), codes: make(map[string]int64),
		occurrences: make(map[string]*memorySlot),
		list:        ranked.New(func(a, b *memorySlot) int { return a.o.Position().Compare(b.o.Position()) }, func(s *memorySlot) uint8 { return s.o.Class() }),
	}
}

// KeepKeys sets a function that returns the keys of conditions that Trim retains, such as those of rules. The function
// must not call m. KeepKeys must be called before m is used.
func (m *Memory) KeepKeys(keys func() []string) { m.kept = keys }

// Write implements [Store].
func (m *Memory) Write(ctx context.Context, refs []Ref, change func(next int64, found []RefResult) (Changes, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	look := lookup{m: m, code: m.code, conditions: make(map[int64]*Condition, len(refs)), created: make(map[string]*Condition)}
	found := make([]RefResult, len(refs))
	for i, ref := range refs {
		found[i] = look.find(ref)
	}
	changes, err := change(m.seq+1, found)
	if err != nil {
		return err
	}
	for _, o := range changes.Occurrences {
		m.putOccurrence(*o)
	}
	for _, c := range look.created {
		m.put(c)
	}
	m.code = look.code
	for _, c := range changes.Conditions {
		m.put(c)
	}
	m.events = append(m.events, changes.Events...)
	if n := len(m.events); n > 0 {
		m.seq = max(m.seq, m.events[n-1].Seq)
	}
	m.bound()
	return nil
}

// lookup finds what the refs of one Write name, each value once.
type lookup struct {
	m           *Memory
	code        int64
	conditions  map[int64]*Condition
	created     map[string]*Condition
	occurrences map[string]*Occurrence // older ones that a Ref names by ID
}

func (l *lookup) find(ref Ref) RefResult {
	switch {
	case ref.ID != "":
		slot := l.m.occurrences[ref.ID]
		if slot == nil {
			return RefResult{}
		}
		c := l.condition(slot.o.Code)
		if c.Last != nil && c.Last.ID == ref.ID {
			return RefResult{c, c.Last}
		}
		if l.occurrences == nil {
			l.occurrences = make(map[string]*Occurrence)
		}
		o := l.occurrences[ref.ID]
		if o == nil {
			own := *slot.o
			o = &own
			l.occurrences[ref.ID] = o
		}
		return RefResult{c, o}
	case ref.Key != "":
		if code, ok := l.m.codes[ref.Key]; ok {
			return found(l.condition(code))
		}
		c := l.created[ref.Key]
		if c == nil && ref.Create {
			l.code++
			c = &Condition{Code: l.code, Key: ref.Key}
			l.created[ref.Key] = c
		}
		return found(c)
	}
	return found(l.condition(ref.Code))
}

func found(c *Condition) RefResult {
	if c == nil {
		return RefResult{}
	}
	return RefResult{c, c.Last}
}

func (l *lookup) condition(code int64) *Condition {
	if c := l.conditions[code]; c != nil {
		return c
	}
	c := l.m.load(code)
	if c != nil {
		l.conditions[code] = c
	}
	return c
}

// load returns a copy of a condition with its Last, or nil.
func (m *Memory) load(code int64) *Condition {
	kept := m.conditions[code]
	if kept == nil {
		return nil
	}
	c := *kept
	if slot := m.newest[code]; slot != nil {
		last := *slot.o
		c.Last = &last
	}
	return &c
}

func (m *Memory) put(c *Condition) {
	own := *c
	own.Last = nil
	if kept := m.conditions[c.Code]; kept != nil {
		own.Key = kept.Key
	}
	m.conditions[c.Code] = &own
	m.codes[own.Key] = c.Code
	delete(m.newest, c.Code)
	if c.Last != nil {
		if slot := m.occurrences[c.Last.ID]; slot != nil {
			m.newest[c.Code] = slot
		}
	}
}

func (m *Memory) putOccurrence(o Occurrence) {
	slot := m.occurrences[o.ID]
	if slot == nil {
		slot = &memorySlot{}
		m.occurrences[o.ID] = slot
	} else {
		m.list.Delete(slot)
	}
	slot.o = &o
	m.list.Insert(slot)
}

// bound removes the oldest beyond memoryKept. It lets a quarter more accumulate to spread the cost over many writes.
func (m *Memory) bound() {
	const most = memoryKept + memoryKept/4
	if len(m.events) > most {
		m.events = slices.Clone(m.events[len(m.events)-memoryKept:])
	}
	if over := m.list.Len() - m.list.Count(classes(&Query{Active: true})) - memoryKept; over > memoryKept/4 {
		m.drop(func(o *Occurrence) bool {
			if !o.Active && over > 0 {
				over--
				return true
			}
			return false
		})
	}
	if len(m.resolutions) > most {
		m.resolutions = slices.Clone(m.resolutions[len(m.resolutions)-memoryKept:])
	}
}

// drop removes occurrences, oldest first.
func (m *Memory) drop(old func(*Occurrence) bool) {
	m.list.DeleteFunc(func(slot *memorySlot) bool {
		if !old(slot.o) {
			return false
		}
		delete(m.occurrences, slot.o.ID)
		if m.newest[slot.o.Code] == slot {
			delete(m.newest, slot.o.Code)
		}
		return true
	})
}

// Trim implements [Trimmer].
func (m *Memory) Trim(ctx context.Context, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	needed := make(map[int64]bool)
	for _, r := range m.resolutions {
		needed[r.Code] = true
	}
	if m.kept != nil {
		for _, key := range m.kept() {
			needed[m.codes[key]] = true
		}
	}
	others := make(map[int64]int)
	newest := func(o *Occurrence) bool { n := m.newest[o.Code]; return n != nil && n.o.ID == o.ID }
	m.drop(func(o *Occurrence) bool {
		if newest(o) {
			return false
		}
		old := !o.Active && o.ClearedAt.Before(before)
		if !old {
			others[o.Code]++
		}
		return old
	})
	m.drop(func(o *Occurrence) bool {
		if o.Active || !o.ClearedAt.Before(before) || !newest(o) {
			return false
		}
		c := m.conditions[o.Code]
		if needed[o.Code] || others[o.Code] > 0 || c.Suppression != 0 {
			return false
		}
		delete(m.conditions, c.Code)
		delete(m.codes, c.Key)
		return true
	})
	m.events = slices.DeleteFunc(m.events, func(e Event) bool { return e.At.Before(before) && journalled(e.ID).Before(before) })
	return nil
}

// journalled returns when an event was stored, to the millisecond; zero if its ID has no time.
func journalled(id string) time.Time {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}
	}
	return time.Unix(u.Time().UnixTime())
}

// AddResolution implements [ResolutionStore].
func (m *Memory) AddResolution(ctx context.Context, r Resolution) (Resolution, error) {
	if err := ctx.Err(); err != nil {
		return Resolution{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolution++
	r.ID = m.resolution
	m.resolutions = append(m.resolutions, withNotes(r))
	m.bound()
	return r, nil
}

// withNotes returns a copy of a resolution that shares nothing with r.
func withNotes(r Resolution) Resolution {
	if r.Notes != nil {
		notes := *r.Notes
		r.Notes = &notes
	}
	return r
}

// Resolutions implements [ResolutionStore].
func (m *Memory) Resolutions(ctx context.Context, code int64) ([]Resolution, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := []Resolution{}
	for _, r := range slices.Backward(m.resolutions) {
		if r.Code == code {
			list = append(list, withNotes(r))
		}
	}
	return list, nil
}

package alarms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// PendingSignals are the signals of one condition that could not be stored yet.
type PendingSignals struct {
	Key     string
	Signals []Signal // oldest first; empty when all are stored
}

// PendingTarget is a Target that shows alarms before they are stored. A Service is one.
type PendingTarget interface {
	Target
	// ShowPending replaces what is pending for each condition named. The signals are applied later, as they
	// are: each Alarm to be raised has its ID. Calls for the same condition must not overlap.
	ShowPending(ctx context.Context, changed []PendingSignals)
}

const (
	// maxShown bounds the conditions whose alarms are shown before they are stored. More are counted only.
	maxShown = 10_000
	// readPending is how long the store may take to read a condition with pending signals.
	readPending = 2 * time.Second
	// pendingSeq is where the numbers of occurrences begin that have no event in the journal yet. They order
	// the list.
	pendingSeq = 1 << 62
)

// pendingAlarms are what pending signals make of conditions.
type pendingAlarms struct {
	mu    sync.Mutex
	byKey map[string]pendingAlarm
	since time.Time // when the first of them began to wait; zero for none
	seq   int64     // last given
}

// pendingAlarm is what signals change of a condition. No value is changed any more.
type pendingAlarm struct {
	stored  *Occurrence // the one that they change, as it is in the store; nil for none
	ended   *Occurrence // the same, where they end it and begin another one; nil otherwise
	pending *Occurrence // the newest, as they leave it; nil where too many are pending
}

// ShowPending implements [PendingTarget]. Until they are stored, alarms are listed by List and Active and told
// to subscribers, with Occurrence.Unjournaled; see SubscribeOptions. Those are not told again when the alarm is
// stored. When a condition cannot be read within two seconds, it and those after it are taken for ones that
// never had an alarm.
func (s *Service) ShowPending(ctx context.Context, changed []PendingSignals) {
	at, ahead := s.times.look()
	now := stamp(at)
	var begun []Event
	readable := true
	for _, p := range changed {
		c := Condition{Key: p.Key}
		if len(p.Signals) > 0 && readable {
			c, readable = s.readCondition(ctx, p.Key)
		}
		a := pendingAlarm{stored: c.Last}
		var last Occurrence
		if a.stored != nil {
			last = *a.stored
			c.Last = &last
		}
		d := &draft{now: now, wall: stamp(at.Add(-ahead)), newID: s.newID}
		for _, sig := range p.Signals {
			d.signal(sig, &c)
		}
		if len(d.changes.Events) == 0 {
			s.pending.remove(p.Key)
			continue
		}
		a.pending = c.Last
		_, ends := d.occurrences[&last]
		switch {
		case a.pending == &last:
		case ends:
			a.ended = &last
		default: // it stays in the lists as it is
			a.stored = nil
		}
		s.pending.put(p.Key, a, now)
		for _, e := range d.changes.Events {
			if e.Annunciate {
				e.Seq, e.Occurrence.Seq, e.Occurrence.Unjournaled = 0, 0, true
				begun = append(begun, e)
			}
		}
	}
	s.hub.announce(begun)
}

// readCondition returns a condition, which may be new, and reports whether it could be read.
func (s *Service) readCondition(ctx context.Context, key string) (Condition, bool) {
	ctx, cancel := context.WithTimeout(ctx, readPending)
	defer cancel()
	c, err := s.store.Condition(ctx, ByKey(key))
	if err != nil {
		c = Condition{Key: key}
	}
	return c, err == nil || errors.Is(err, ErrAlarmNotFound)
}

func (p *pendingAlarms) put(key string, a pendingAlarm, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = make(map[string]pendingAlarm)
	}
	before, again := p.byKey[key]
	switch {
	case !again && len(p.byKey) >= maxShown:
		a = pendingAlarm{}
	case a.stored != nil && a.stored.ID == a.pending.ID:
		a.pending.Seq = a.stored.Seq
	case before.pending != nil && before.pending.ID == a.pending.ID:
		a.pending.Seq = before.pending.Seq
	default:
		p.seq++
		a.pending.Seq = pendingSeq + p.seq
	}
	for _, o := range []*Occurrence{a.ended, a.pending} {
		if o != nil {
			o.Unjournaled = true
		}
	}
	if len(p.byKey) == 0 {
		p.since = now
	}
	p.byKey[key] = a
}

func (p *pendingAlarms) remove(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.byKey, key); len(p.byKey) == 0 {
		p.since = time.Time{}
	}
}

// Unjournaled returns how many conditions have alarms that are raised or over and not stored yet, and since
// when there are any, which is zero for none.
func (s *Service) Unjournaled() (count int, since time.Time) {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return len(s.pending.byKey), s.pending.since
}

// find returns the newest occurrence of a condition that waits to be stored and that ref names, or nil.
func (p *pendingAlarms) find(ref Ref) *Occurrence {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.byKey {
		if o := a.pending; o != nil && (ref.ID != "" && o.ID == ref.ID || ref.Key != "" && o.Key == ref.Key || ref.Code != 0 && o.Code == ref.Code) {
			return o
		}
	}
	return nil
}

// selected returns the pending occurrences that a query selects, newest first, and those that it finds
// in the store in their stead.
func (p *pendingAlarms) selected(q *Query) (pending, stored []Occurrence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.byKey {
		if a.stored != nil && q.selects(a.stored) {
			stored = append(stored, *a.stored)
		}
		for _, o := range []*Occurrence{a.ended, a.pending} {
			if o != nil && q.selects(o) {
				pending = append(pending, *o)
			}
		}
	}
	slices.SortFunc(pending, func(a, b Occurrence) int { return b.Position().Compare(a.Position()) })
	return pending, stored
}

// occurrences returns what a query selects, as it is with the signals that are pending. With coded, those of
// conditions that have no code yet are left out.
func (s *Service) occurrences(ctx context.Context, q Query, coded bool) (Page, error) {
	pending, stored := s.pending.selected(&q)
	if coded {
		pending = slices.DeleteFunc(pending, func(o Occurrence) bool { return o.Code == 0 })
	}
	if len(pending)+len(stored) == 0 {
		return s.store.Occurrences(ctx, q)
	}
	wide := q
	wide.Offset = max(0, q.Offset-len(pending))
	wide.Limit += min(len(pending)+len(stored), int(^uint32(0)>>1)-wide.Limit)
	page, err := s.store.Occurrences(ctx, wide)
	if err != nil {
		return Page{}, err
	}
	m := merge{q: &q, pending: pending, skip: make(map[string]bool), total: page.Total + len(pending) - len(stored)}
	for i := range stored {
		m.skip[stored[i].ID] = true
	}
	m.run(page.Occurrences, wide.Offset, stored)
	if !q.Count {
		m.total = 0
	}
	return Page{Occurrences: m.out, Total: m.total}, nil
}

// merge puts pending occurrences in their places among stored ones.
type merge struct {
	q       *Query
	pending []Occurrence
	skip    map[string]bool // stored ones that are left out
	total   int
	place   int // of the next one in the whole
	out     []Occurrence
}

func (m *merge) run(rows []Occurrence, offset int, stored []Occurrence) {
	m.out = []Occurrence{}
	if offset > 0 {
		if len(rows) == 0 {
			return // the page is beyond the end, by what is pending as well
		}
		first := rows[0].Position()
		before := func(o Occurrence) bool { return o.Position().Compare(first) > 0 }
		m.place = offset
		for len(m.pending) > 0 && before(m.pending[0]) {
			m.pending = m.pending[1:]
			m.place++
		}
		for _, o := range stored {
			if before(o) {
				m.place--
			}
		}
	}
	own := make(map[string]bool, len(m.pending))
	for i := range m.pending {
		own[m.pending[i].ID] = true
	}
	for i := range rows {
		for len(m.pending) > 0 && m.pending[0].Position().Compare(rows[i].Position()) >= 0 {
			m.take(&m.pending[0])
			m.pending = m.pending[1:]
		}
		switch {
		case m.skip[rows[i].ID]:
		case own[rows[i].ID]: // it has just been stored
			m.total--
		default:
			m.take(&rows[i])
		}
	}
	for i := range m.pending {
		m.take(&m.pending[i])
	}
}

// take adds an occurrence that is on the page.
func (m *merge) take(o *Occurrence) {
	if m.q.Before.Seq > 0 && o.Position().Compare(m.q.Before) >= 0 {
		return
	}
	if m.place >= m.q.Offset && len(m.out) < m.q.Limit {
		m.out = append(m.out, *o)
	}
	m.place++
}

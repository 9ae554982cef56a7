package alarms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// PendingSignals are the signals of one condition that are not stored yet.
type PendingSignals struct {
	Key     string
	Signals []Signal // oldest first; empty when all are stored
}

// PendingTarget is a [Target] that lists alarms before they are stored. A Service is a PendingTarget.
type PendingTarget interface {
	Target
	// ShowPending replaces the pending signals of each condition named. They are applied later, unchanged: each Alarm to
	// raise has its ID. Calls for the same condition must not overlap. Signals with Ended are not shown.
	ShowPending(ctx context.Context, changed []PendingSignals)
}

const (
	// maxShown bounds the conditions whose alarms are listed before they are stored. Others are only counted.
	maxShown = 10_000
	// readPending is how long the store may take to read a condition with pending signals.
	readPending = 2 * time.Second
	// pendingSeq is the first sequence number of occurrences without an event in the journal. It only orders lists.
	pendingSeq = 1 << 62
)

// pendingAlarms has the alarms that result from pending signals.
type pendingAlarms struct {
	mu    sync.Mutex
	byKey map[string]pendingAlarm
	since time.Time // when the first of them became pending; zero for none
	seq   int64     // last assigned
}

// pendingAlarm is the effect of pending signals on a condition. Its values do not change.
type pendingAlarm struct {
	stored  *Occurrence // the occurrence that they change, as stored; nil for none
	ended   *Occurrence // the same occurrence, ended, if they also begin another; nil otherwise
	pending *Occurrence // the newest occurrence after them; nil if too many are pending
}

// ShowPending implements [PendingTarget]. Until they are stored, alarms are listed by List and Active and sent to
// subscribers with Occurrence.Unjournaled, see SubscribeOptions. They are not sent again when they are stored. If a
// condition cannot be read within two seconds, it and the following ones are treated as conditions without an
// occurrence.
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
			if !sig.past() { // what is over is not urgent
				d.signal(sig, &c)
			}
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
		default: // the stored one is listed as it is
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

// readCondition returns a condition, possibly a new one, and reports whether it could be read.
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

// Unjournaled returns the number of conditions with alarms that are not stored yet, and since when there are any; the
// time is zero for none.
func (s *Service) Unjournaled() (count int, since time.Time) {
	s.pending.mu.Lock()
	defer s.pending.mu.Unlock()
	return len(s.pending.byKey), s.pending.since
}

// find returns the newest occurrence of a pending condition if ref names it, or nil.
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

// selected returns the pending occurrences that a query selects, newest first, and the stored ones that it would select
// in their place.
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

// occurrences returns what a query selects, with pending signals applied. If coded is true, it omits those of conditions
// without a code.
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

// merge inserts pending occurrences into a page of stored ones.
type merge struct {
	q       *Query
	pending []Occurrence
	skip    map[string]bool // ids of stored ones to omit
	total   int
	place   int // of the next occurrence in the whole list
	out     []Occurrence
}

func (m *merge) run(rows []Occurrence, offset int, stored []Occurrence) {
	m.out = []Occurrence{}
	if offset > 0 {
		if len(rows) == 0 {
			return // the page is beyond the end
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
		case own[rows[i].ID]: // stored since
			m.total--
		default:
			m.take(&rows[i])
		}
	}
	for i := range m.pending {
		m.take(&m.pending[i])
	}
}

// take appends an occurrence if it is on the page.
func (m *merge) take(o *Occurrence) {
	if m.q.Before.Seq > 0 && o.Position().Compare(m.q.Before) >= 0 {
		return
	}
	if m.place >= m.q.Offset && len(m.out) < m.q.Limit {
		m.out = append(m.out, *o)
	}
	m.place++
}

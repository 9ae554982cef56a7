package cluster

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// The times of a member as parts of the TTL.
const (
	renewals  = 3  // between two renewals
	looks     = 8  // between two looks at the others, at most
	margin    = 10 // by which a lease ends earlier for its holder than for the others
	retry     = 6  // to the next try after a failure
	callLimit = 2  // of one call of the store
	shortest  = 60 // after a wake
	slow      = 4  // between two looks, from which on the store counts as slow
)

// chances is how many renewals of this engine, each a third of the TTL or more after the one before, another engine may miss before it counts as
// silent, whatever is excused.
const chances = 6

// run renews the session and does what the plan says until the member is closed and its work has ended, or ctx ends.
func (m *Member) run(ctx context.Context) {
	defer close(m.done)
	closed := (<-chan struct{})(m.closed)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait, err := m.step(ctx)
		if closed == nil && len(m.tasks) == 0 && (m.released || err != nil) {
			break
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-m.wake.C():
			m.pause(ctx)
		case <-closed:
			closed = nil
			m.mu.Lock()
			m.draining, m.leaving = true, true
			m.mu.Unlock()
			for _, t := range m.tasks { // whether or not the store can be reached: the time to end is short
				t.cancel(ErrMoved)
			}
		case <-ctx.Done():
		}
	}
	m.leave(ctx)
}

// pause keeps those who wake the member often from keeping the store busy.
func (m *Member) pause(ctx context.Context) {
	select {
	case <-time.After(m.o.TTL / shortest):
	case <-ctx.Done():
	}
}

// leave ends what is left of the work, and the session.
func (m *Member) leave(ctx context.Context) {
	m.err = context.Cause(ctx)
	m.lose()
	for _, t := range m.tasks {
		<-t.ended
	}
	m.mu.Lock()
	m.expiry.Stop()
	s := m.session
	m.mu.Unlock()
	if s.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.o.TTL/callLimit)
	defer cancel()
	if _, err := m.o.Store.End(ctx, s.ID, s.Beat); err != nil {
		m.o.Logger.Warn("the session of the engine could not be ended; the others take over after the TTL", "error", err)
	}
}

// step renews the session if it is time, looks at what the others do and acts on it. It returns how long to wait for the next one, and why the store could not be used.
func (m *Member) step(ctx context.Context) (time.Duration, error) {
	m.collect()
	m.pressed = nil
	ended := false
	err := m.renewIfDue(ctx)
	if err == nil {
		ended, err = m.look(ctx)
	}
	m.blind = err != nil
	if err == nil && !ended {
		began := time.Now()
		if err = m.act(ctx); err != nil {
			m.excuse(time.Since(began))
		}
	}
	switch m.note(cmp.Or(err, m.pressed)); {
	case err != nil:
		m.asked = time.Time{} // whether the others are silent is not known before the session is renewed
		return m.o.TTL / retry, err
	case m.pressed != nil: // that has taken its time
		m.asked = time.Time{}
		return m.o.TTL / shortest, m.pressed
	}
	if ended {
		return 0, nil // look again what is free now, but not before the own session is renewed if it is time
	}
	return m.next(), nil
}

// note logs when the store cannot be used, and when it can again.
func (m *Member) note(err error) {
	m.mu.Lock()
	before := m.failing
	m.failing = err
	m.mu.Unlock()
	switch {
	case err != nil && before == nil:
		m.o.Logger.Warn("the session of the engine cannot be renewed", "error", err)
	case err == nil && before != nil:
		m.o.Logger.Info("the session of the engine is renewed again")
	}
}

func (m *Member) renewIfDue(ctx context.Context) error {
	m.mu.Lock()
	due := m.news || m.session.Draining != m.draining || time.Since(m.asked) >= m.o.TTL/renewals
	m.mu.Unlock()
	if !due {
		return nil
	}
	return m.renew(ctx)
}

// renew renews the session, or begins a new one.
func (m *Member) renew(ctx context.Context) error {
	m.mu.Lock()
	if m.session.ID == "" {
		m.session.ID, m.session.Beat = m.o.NewID(), 0
	}
	m.session.Beat++ // also after a failure: the store may have taken the last one
	m.session.Draining, m.session.Unable, m.session.Wants, m.news = m.draining, m.reasons(), maps.Clone(m.wants), false
	s := m.session
	m.mu.Unlock()
	asked := time.Now()
	m.asked = asked
	err := m.call(ctx, func(ctx context.Context) error { return m.o.Store.Renew(ctx, s) })
	if errors.Is(err, ErrEnded) {
		m.lose()
		m.mu.Lock()
		m.session.ID = ""
		m.mu.Unlock()
		m.asked = time.Time{}
	}
	if err != nil {
		return err
	}
	chance, away := asked.Sub(m.counted) >= m.o.TTL/renewals, asked.Sub(m.renewed) > m.o.TTL-m.o.TTL/margin
	for id, s := range m.others {
		if chance {
			s.chances++
		}
		if away { // they may have been without the store as well, as this one was
			s.excused = asked.Sub(s.at)
		}
		m.others[id] = s
	}
	if away {
		m.looked = asked
	}
	if chance {
		m.counted = asked
	}
	m.took = time.Since(asked)
	m.mu.Lock()
	m.renewed = asked
	m.mu.Unlock()
	m.hold(asked.Add(m.o.TTL - m.o.TTL/margin))
	return nil
}

// call calls the store.
func (m *Member) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.o.TTL/callLimit)
	defer cancel()
	return do(ctx)
}

// hold makes the leases last until a time.
func (m *Member) hold(until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.valid() {
		m.end(ErrLost) // work may have seen it
	}
	if m.life.Err() != nil {
		m.life, m.end = context.WithCancelCause(context.Background())
	}
	m.deadline.Store(int64(until.Sub(m.base)))
	m.awake.Store(int64(time.Since(m.base)))
	m.expiry.Reset(m.o.TTL / renewals)
}

// expire ends the leases when their time has come. Alone, that is only after this process was stopped: it looks at the clock every now and then.
func (m *Member) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.valid() {
		m.end(ErrLost)
		return
	}
	now, wait := time.Since(m.base), m.o.TTL/renewals
	m.awake.Store(int64(now))
	if left := time.Duration(m.deadline.Load()) - now; left > 0 {
		wait = min(wait, left)
	}
	m.expiry.Reset(wait)
}

// lose ends the leases at once.
func (m *Member) lose() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline.Store(0)
	m.end(ErrLost)
}

// next returns how long it is to the next renewal or look, or until an engine counts as silent, whichever is first.
func (m *Member) next() time.Duration {
	at := m.asked.Add(m.o.TTL / renewals)
	if look := time.Now().Add(m.o.TTL / looks); look.Before(at) {
		at = look
	}
	for id, seen := range m.others {
		if silent := seen.until(m.o.TTL); id != m.session.ID && silent.Before(at) {
			at = silent
		}
	}
	return max(time.Until(at), 0)
}

// reasons returns what this engine cannot do at present. m.mu is held.
func (m *Member) reasons() map[string]string {
	unable := make(map[string]string, len(m.unable))
	for work, r := range m.unable {
		if r.lingers || time.Now().Before(r.until) {
			unable[work] = r.reason
		} else {
			delete(m.unable, work)
		}
	}
	for i := range m.works {
		if w := &m.works[i]; w.Cannot != "" {
			unable[w.Name] = w.Cannot
		}
	}
	return unable
}

// collect removes the tasks that have ended.
func (m *Member) collect() {
	for work, t := range m.tasks {
		select {
		case <-t.ended:
		default:
			if errors.Is(context.Cause(t.ctx), ErrLost) && !m.unable[work].lingers {
				m.unable[work] = refusal{reason: "it has not ended since the lease was lost", lingers: true}
				m.asked = time.Time{}
			}
			continue
		}
		delete(m.tasks, work)
		t.cancel(nil)
		if m.unable[work].lingers {
			delete(m.unable, work)
			m.asked = time.Time{}
		}
		if t.err != nil {
			m.refuse(work, t.err.Error())
		}
	}
}

// refuse leaves work to the others for a while.
func (m *Member) refuse(work, reason string) {
	m.o.Logger.Warn("this engine cannot do the work", "work", work, "reason", reason)
	m.unable[work] = refusal{reason: reason, until: time.Now().Add(m.o.RetryAfter)}
	m.asked = time.Time{} // tell them now
}

// act claims, begins, ends and releases work as the plan says.
func (m *Member) act(ctx context.Context) error {
	m.mu.Lock()
	works, state, self := m.works, m.state, m.session.ID
	m.mu.Unlock()
	now := time.Now()
	if ids := idsOf(state.Sessions); !slices.Equal(ids, m.ids) {
		m.ids, m.settled = ids, now
	}
	target := plan(works, state, now.Sub(m.settled) >= m.o.Settle)
	free := make(map[string]bool, len(works))
	for _, w := range works {
		free[w.Name] = true
	}
	mine := map[string]Lease{}
	for _, l := range state.Leases {
		free[l.Work] = free[l.Work] && l.Session == ""
		if l.Session == self {
			mine[l.Work] = l
		}
	}
	for work, t := range m.tasks {
		if mine[work] != t.lease {
			t.cancel(ErrLost)
		} else if target[work] != self {
			t.cancel(ErrMoved)
		}
	}
	if err := m.release(ctx, self, mine, target); err != nil {
		return err
	}
	return m.claim(ctx, self, free, target)
}

// release begins the work of leases that came without a claim, and gives away what others should do, as far as it has ended.
func (m *Member) release(ctx context.Context, self string, mine map[string]Lease, target map[string]string) error {
	away := map[string][]string{}
	m.released = true
	for work, l := range mine {
		switch t := m.tasks[work]; {
		case t != nil && t.lease == l:
			m.released = false
		case t == nil && target[work] == self:
			m.released = false
			m.begin(l)
		case target[work] == self: // the work of an earlier lease has not ended: collect tells the others
			m.released = false
		default:
			away[target[work]] = append(away[target[work]], work)
		}
	}
	for to, list := range away {
		slices.Sort(list)
		if err := m.call(ctx, func(ctx context.Context) error { return m.o.Store.Release(ctx, self, list, to) }); err != nil {
			m.released = false
			return err
		}
	}
	return nil
}

// claim takes the work that nobody does and this engine should, and begins it.
func (m *Member) claim(ctx context.Context, self string, free map[string]bool, target map[string]string) error {
	var wanted []string
	for work, to := range target {
		if to == self && free[work] && m.tasks[work] == nil {
			wanted = append(wanted, work)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	slices.Sort(wanted)
	return m.call(ctx, func(ctx context.Context) error {
		leases, err := m.o.Store.Claim(ctx, self, wanted)
		for _, l := range leases {
			m.begin(l)
		}
		return err
	})
}

// begin does a piece of work in a goroutine of its own.
func (m *Member) begin(l Lease) {
	m.mu.Lock()
	life := m.life
	m.mu.Unlock()
	ctx, cancel := context.WithCancelCause(life)
	t := &task{lease: l, ctx: ctx, cancel: cancel, ended: make(chan struct{})}
	m.tasks[l.Work] = t
	go func() {
		defer m.wake.Set()
		defer close(t.ended)
		held := &Held{Work: l.Work, Epoch: l.Epoch, m: m, life: life, ctx: ctx, ended: t.ended}
		err := m.o.Do(ctx, held)
		if ctx.Err() == nil && held.Valid() { // or it saw before ctx did that the lease has ended
			t.err = cmp.Or(err, errEnded)
		}
		held.over.Store(true)
	}()
}

var errEnded = errors.New("it ended by itself")

// idsOf returns the IDs of sessions whose engines take work.
func idsOf(sessions []Session) (ids []string) {
	for i := range sessions {
		if !sessions[i].Draining {
			ids = append(ids, sessions[i].ID)
		}
	}
	return ids
}

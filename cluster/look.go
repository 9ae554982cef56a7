package cluster

import (
	"context"
	"time"
)

// look reads what the store has, and ends the session of an engine that is silent. It reports whether there was one.
func (m *Member) look(ctx context.Context) (ended bool, err error) {
	var state State
	if err := m.call(ctx, func(ctx context.Context) (err error) {
		state, err = m.o.Store.State(ctx)
		return err
	}); err != nil {
		return false, err
	}
	silent := m.sight(state.Sessions)
	seen := make(map[string]time.Time, len(m.others))
	for id, s := range m.others {
		seen[id] = s.at
	}
	m.mu.Lock()
	m.state, m.seen = state, seen
	m.mu.Unlock()
	m.mind(state)
	if silent == nil {
		return false, nil
	}
	return m.endSilent(ctx, silent)
}

// endSilent ends the session of a silent engine. That may take long, and must leave the time to renew the own one.
func (m *Member) endSilent(ctx context.Context, silent *Session) (ended bool, err error) {
	if time.Since(m.asked) > m.o.TTL/retry {
		if err := m.renew(ctx); err != nil {
			return false, err
		}
	}
	ctx, cancel := context.WithDeadline(ctx, m.asked.Add(m.o.TTL-m.o.TTL/margin-m.took*5/4))
	defer cancel()
	m.pressed = m.call(ctx, func(ctx context.Context) (err error) {
		ended, err = m.o.Store.Lose(ctx, *silent, m.now())
		return err
	})
	if ended {
		m.o.Logger.Warn("an engine is silent; the others take over its work", "engine", silent.Engine, "host", silent.Host)
	}
	return ended, nil
}

// excuse leaves out of the silence of the others a time for which this engine was without the store, as they may have been.
func (m *Member) excuse(d time.Duration) {
	for id, s := range m.others {
		s.excused += d
		m.others[id] = s
	}
	m.looked = time.Now()
}

// mind notes whether there has been another engine. One that is silent counts, too: it may be cut off, and come back.
func (m *Member) mind(state State) {
	for i := range state.Sessions {
		if state.Sessions[i].Engine != m.o.Engine {
			m.alone.Store(false)
		}
	}
}

// sight notes which sessions have been renewed since the last look, and returns one that has not been for the TTL, if there is one.
func (m *Member) sight(sessions []Session) (silent *Session) {
	now := time.Now() // after they were read: a renewal that was seen is older
	gap := now.Sub(m.looked)
	if m.blind {
		m.excuse(gap)
	}
	m.looked = now
	seen := make(map[string]sighting, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		last, known := m.others[s.ID]
		switch {
		case !known || last.beat != s.Beat:
			last = sighting{beat: s.Beat, at: now}
		case s.ID == m.session.ID || now.Before(last.until(m.o.TTL)):
		case gap > m.o.TTL/slow && !last.spared: // the store may have been slow for the other, too, or the machine of this engine stood still
			last.spared, last.excused = true, now.Add(m.o.TTL/renewals).Sub(last.at.Add(m.o.TTL))
		default:
			silent = s
		}
		seen[s.ID] = last
	}
	m.others = seen
	return silent
}

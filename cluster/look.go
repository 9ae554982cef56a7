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
	m.excuse()
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
	err = m.call(ctx, func(ctx context.Context) (err error) {
		ended, err = m.o.Store.Lose(ctx, *silent, m.now())
		return err
	})
	if ended {
		m.o.Logger.Warn("an engine is silent; the others take over its work", "engine", silent.Engine, "host", silent.Host)
	}
	return ended, err
}

// excuse leaves out of the silence of the others the time for which this engine was without the store, as they may have been.
func (m *Member) excuse() {
	now := time.Now()
	if m.blind {
		for id, s := range m.others {
			s.excused += now.Sub(m.looked)
			m.others[id] = s
		}
	}
	m.looked = now
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
	seen := make(map[string]sighting, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		last, known := m.others[s.ID]
		if !known || last.beat != s.Beat {
			last = sighting{beat: s.Beat, at: now}
		}
		seen[s.ID] = last
		if s.ID != m.session.ID && !now.Before(last.until(m.o.TTL)) {
			silent = s
		}
	}
	m.others = seen
	return silent
}

package cluster

import (
	"context"
	"slices"
	"time"
)

// unspoken is the part of the TTL by which a session may be gone earlier than it counts as silent here, and was still ended by another engine: that one may
// have seen the last renewal earlier. One that ends itself was renewed until then.
const unspoken = 3

// look reads what the store has, and ends the session of an engine that is silent. It reports whether there was one.
func (m *Member) look(ctx context.Context) (ended bool, err error) {
	var state State
	if err := m.call(ctx, func(ctx context.Context) (err error) {
		state, err = m.o.Store.State(ctx)
		return err
	}); err != nil {
		return false, err
	}
	silent, gone := m.sight(state.Sessions)
	seen := make(map[string]time.Time, len(m.others))
	for id, s := range m.others {
		seen[id] = s.at
	}
	m.mu.Lock()
	m.state, m.seen, m.lost = state, seen, m.missed(gone, state.Sessions)
	m.mu.Unlock()
	m.mind(state)
	if silent == nil {
		return false, nil
	}
	err = m.call(ctx, func(ctx context.Context) (err error) {
		ended, err = m.o.Store.End(ctx, silent.ID, silent.Beat)
		return err
	})
	if ended {
		m.o.Logger.Warn("an engine is silent; the others take over its work", "engine", silent.Engine, "host", silent.Host)
	}
	return ended, err
}

// mind notes whether there has been another engine. One that is silent counts, too: it may be cut off, and come back.
func (m *Member) mind(state State) {
	for i := range state.Sessions {
		if state.Sessions[i].Engine != m.o.Engine {
			m.alone.Store(false)
		}
	}
}

// sight notes which sessions have been renewed since the last look. It returns one that has not been for the TTL, if there is one, and those that are
// gone without a word.
func (m *Member) sight(sessions []Session) (silent *Session, gone []Session) {
	now := time.Now() // after they were read: a renewal that was seen is older
	seen := make(map[string]sighting, len(sessions))
	for i := range sessions {
		s := &sessions[i]
		last, known := m.others[s.ID]
		if !known || last.session.Beat != s.Beat {
			last = sighting{*s, now}
		}
		seen[s.ID] = last
		if s.ID != m.session.ID && now.Sub(last.at) >= m.o.TTL {
			silent = s
		}
	}
	for id, last := range m.others {
		if _, there := seen[id]; !there && last.session.Engine != m.o.Engine && now.Sub(last.at) >= m.o.TTL-m.o.TTL/unspoken {
			gone = append(gone, last.session)
		}
	}
	m.others = seen
	return silent, gone
}

// missed returns the engines that are lost now that others are gone. m.mu is held.
func (m *Member) missed(gone, sessions []Session) []Loss {
	returned := func(l Loss) bool {
		return slices.ContainsFunc(sessions, func(s Session) bool { return s.Engine == l.Engine })
	}
	if len(gone) == 0 && !slices.ContainsFunc(m.lost, returned) {
		return m.lost
	}
	lost := slices.Clone(m.lost)
	for _, s := range gone {
		lost = slices.DeleteFunc(lost, func(l Loss) bool { return l.Engine == s.Engine })
		lost = append(lost, Loss{s, m.o.Now().UTC()})
	}
	lost = slices.DeleteFunc(lost, returned)
	return lost[max(0, len(lost)-MaxLost):]
}

package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] in memory, for members of one process.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]Session
	leases   map[string]Lease
	lost     []Loss // as in State
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{sessions: map[string]Session{}, leases: map[string]Lease{}}
}

// Renew implements [Store].
func (m *Memory) Renew(ctx context.Context, s Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := m.sessions[s.ID]; !ok && s.Beat != 1 {
		return ErrEnded.On("session", s.ID)
	}
	m.sessions[s.ID] = s.clone()
	return nil
}

// State implements [Store].
func (m *Memory) State(ctx context.Context) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return State{}, err
	}
	var state State
	for _, s := range m.sessions {
		state.Sessions = append(state.Sessions, s.clone())
	}
	slices.SortFunc(state.Sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	state.Leases = slices.SortedFunc(maps.Values(m.leases), func(a, b Lease) int { return cmp.Compare(a.Work, b.Work) })
	for _, l := range m.lost {
		state.Lost = append(state.Lost, Loss{l.clone(), l.At})
	}
	return state, nil
}

// End implements [Store].
func (m *Memory) End(ctx context.Context, session string, beat uint64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return m.end(session, beat), nil
}

func (m *Memory) end(session string, beat uint64) bool {
	if m.sessions[session].Beat > beat {
		return false
	}
	delete(m.sessions, session)
	for work, l := range m.leases {
		if l.Session == session {
			l.Session = ""
			m.leases[work] = l
		}
	}
	return true
}

// Lose implements [Store].
func (m *Memory) Lose(ctx context.Context, s Session, at time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	_, there := m.sessions[s.ID]
	if ended := m.end(s.ID, s.Beat); !there || !ended {
		return ended, nil
	}
	m.lost = slices.DeleteFunc(m.lost, func(l Loss) bool { return l.Engine == s.Engine })
	m.lost = append(m.lost, Loss{s.clone(), at})
	slices.SortStableFunc(m.lost, func(a, b Loss) int { return a.At.Compare(b.At) })
	m.lost = m.lost[max(0, len(m.lost)-MaxLost):]
	return true, nil
}

// Forget implements [Store].
func (m *Memory) Forget(ctx context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.lost = slices.DeleteFunc(m.lost, func(l Loss) bool { return l.ID == session })
	return nil
}

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, session string, works []string) (claimed []Lease, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if _, ok := m.sessions[session]; !ok {
		return nil, ErrEnded.On("session", session)
	}
	for _, work := range works {
		l := m.leases[work]
		if l.Session != "" {
			continue
		}
		l = Lease{Work: work, Session: session, Epoch: l.Epoch + 1}
		m.leases[work] = l
		claimed = append(claimed, l)
	}
	return claimed, nil
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, session string, works []string, successor string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, ok := m.sessions[successor]; !ok {
		successor = ""
	}
	for _, work := range works {
		l, ok := m.leases[work]
		if !ok || l.Session != session {
			continue
		}
		if l.Session = successor; successor != "" {
			l.Epoch++
		}
		m.leases[work] = l
	}
	return nil
}

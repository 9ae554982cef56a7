package accounts

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] and a [SessionStore] that loses everything when the process ends.
// Safe for concurrent use; an update function must not call back into the same Memory.
type Memory struct {
	mu       sync.RWMutex
	accounts map[string]Account // by folded name
	sessions map[string]Session // by id
}

var (
	_ Store        = (*Memory)(nil)
	_ SessionStore = (*Memory)(nil)
)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{accounts: make(map[string]Account), sessions: make(map[string]Session)}
}

// Account implements [Store].
func (m *Memory) Account(ctx context.Context, name string) (Account, error) {
	if err := ctx.Err(); err != nil {
		return Account{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	a, ok := m.accounts[FoldName(name)]
	if !ok {
		return Account{}, ErrAccountNotFound.On("account", name)
	}
	return a, nil
}

// AddAccount implements [Store].
func (m *Memory) AddAccount(ctx context.Context, a Account) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.accounts[FoldName(a.Name)]; ok {
		return ErrAccountExists.On("account", a.Name)
	}
	m.accounts[FoldName(a.Name)] = a
	return nil
}

// UpdateAccount implements [Store].
func (m *Memory) UpdateAccount(ctx context.Context, name string, update func(*Account) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[FoldName(name)]
	if !ok {
		return ErrAccountNotFound.On("account", name)
	}
	kept := a
	if err := update(&a); err != nil {
		return err
	}
	a.Name, a.LastSignIn = kept.Name, kept.LastSignIn
	m.accounts[FoldName(name)] = a
	return nil
}

// ChangeAccount implements [Store].
func (m *Memory) ChangeAccount(ctx context.Context, name string, change func(*Account, int) (Effect, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[FoldName(name)]
	if !ok {
		return ErrAccountNotFound.On("account", name)
	}
	others := 0
	for key, other := range m.accounts {
		if key != FoldName(name) && other.Role == Admin && !other.Disabled {
			others++
		}
	}
	kept := a
	effect, err := change(&a, others)
	if err != nil {
		return err
	}
	if effect == Removes {
		m.remove(name)
		return nil
	}
	a.Name, a.LastSignIn = kept.Name, kept.LastSignIn
	m.accounts[FoldName(name)] = a
	if effect == SignsOut {
		m.endSessions(name, "", a.UpdatedAt)
	}
	return nil
}

// RemoveAccount implements [Store].
func (m *Memory) RemoveAccount(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.accounts[FoldName(name)]; !ok {
		return ErrAccountNotFound.On("account", name)
	}
	m.remove(name)
	return nil
}

func (m *Memory) remove(name string) {
	delete(m.accounts, FoldName(name))
	for id, s := range m.sessions {
		if FoldName(s.Account) == FoldName(name) {
			delete(m.sessions, id)
		}
	}
}

// Accounts implements [Store].
func (m *Memory) Accounts(ctx context.Context) ([]Account, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]Account, 0, len(m.accounts))
	for _, a := range m.accounts {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Account) int {
		return strings.Compare(FoldName(a.Name), FoldName(b.Name))
	})
	return all, nil
}

// AddSession implements [SessionStore].
func (m *Memory) AddSession(ctx context.Context, s Session) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.accounts[FoldName(s.Account)]
	if !ok {
		return ErrAccountNotFound.On("account", s.Account)
	}
	a.LastSignIn = s.CreatedAt
	m.accounts[FoldName(s.Account)] = a
	s.RefreshHash = bytes.Clone(s.RefreshHash)
	m.sessions[s.ID] = s
	return nil
}

// Session implements [SessionStore].
func (m *Memory) Session(ctx context.Context, id string) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s, ok := m.sessions[id]
	if !ok {
		return Session{}, ErrSessionNotFound
	}
	s.RefreshHash = bytes.Clone(s.RefreshHash)
	return s, nil
}

// UpdateSession implements [SessionStore].
func (m *Memory) UpdateSession(ctx context.Context, id string, update func(*Session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sessions[id]
	if !ok {
		return ErrSessionNotFound
	}
	kept := s
	s.RefreshHash = bytes.Clone(s.RefreshHash)
	if err := update(&s); err != nil {
		return err
	}
	s.ID, s.Account = kept.ID, kept.Account
	s.RefreshHash = bytes.Clone(s.RefreshHash)
	m.sessions[id] = s
	return nil
}

// Sessions implements [SessionStore].
func (m *Memory) Sessions(ctx context.Context, account string) ([]Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []Session
	for _, s := range m.sessions {
		if account == "" || FoldName(s.Account) == FoldName(account) {
			s.RefreshHash = bytes.Clone(s.RefreshHash)
			all = append(all, s)
		}
	}
	return all, nil
}

// EndSessions implements [SessionStore].
func (m *Memory) EndSessions(ctx context.Context, account, keep string, at time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endSessions(account, keep, at)
	return nil
}

func (m *Memory) endSessions(account, keep string, at time.Time) {
	for id, s := range m.sessions {
		if FoldName(s.Account) == FoldName(account) && id != keep && s.EndedAt.IsZero() {
			s.EndedAt = at
			m.sessions[id] = s
		}
	}
}

// RemoveSessions implements [SessionStore].
func (m *Memory) RemoveSessions(ctx context.Context, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, s := range m.sessions {
		if s.ExpiresAt.Before(before) {
			delete(m.sessions, id)
		}
	}
	return nil
}

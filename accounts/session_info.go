package accounts

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

const (
	maxLive = 10_000 // sessions that are remembered; more are read from the store more often
	// While the store cannot be read, sessions cannot be ended either. What was read last is used for as long as an
	// access token can live.
	storeOutage = 24 * time.Hour
	readTimeout = 2 * time.Second
)

// SessionInfo is the current state of a session that has not ended.
type SessionInfo struct {
	Account string
	Role    Role
}

type liveSession struct {
	SessionInfo
	expires time.Time
	read    time.Time // when the store last answered
	next    time.Time // when to ask it again
	err     error     // ErrSessionEnded, or nil

	unchecked bool // the store did not answer the last time, which was logged
}

// liveSessions remembers what was read of sessions. generation grows with every drop, so that a
// reading which began before a drop is not kept after it.
type liveSessions struct {
	mu         sync.RWMutex
	byID       map[string]*liveSession // entries are never changed
	generation uint64
}

// SessionInfo returns the account of a session and its current role, or [ErrSessionEnded]. It reads memory, and the store
// at most once in Options.MaxStaleness per session. Changes by this service are seen immediately.
func (s *Service) SessionInfo(ctx context.Context, sessionID string) (SessionInfo, error) {
	now := s.opts.Now()
	s.live.mu.RLock()
	e, generation := s.live.byID[sessionID], s.live.generation
	s.live.mu.RUnlock()
	if e == nil || !now.Before(e.next) {
		var err error
		if e, err = s.readLive(ctx, sessionID, e, generation); err != nil {
			return SessionInfo{}, err
		}
	}
	if e.err != nil {
		return SessionInfo{}, e.err
	}
	if !now.Before(e.expires) {
		return SessionInfo{}, ErrSessionEnded
	}
	return e.SessionInfo, nil
}

func (s *Service) readLive(ctx context.Context, id string, known *liveSession, generation uint64) (*liveSession, error) {
	// The generation in the key keeps callers from joining a reading that began before a change.
	v, err, _ := s.reading.Do(strconv.FormatUint(generation, 36)+"."+id, func() (any, error) {
		// Others wait for this reading, so it must not end with the one caller that began it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return s.fetchLive(ctx, id, known, generation)
	})
	if err != nil {
		return nil, err
	}
	return v.(*liveSession), nil
}

func (s *Service) fetchLive(ctx context.Context, id string, known *liveSession, generation uint64) (*liveSession, error) {
	now := s.opts.Now()
	e := &liveSession{read: now, next: now.Add(s.opts.MaxStaleness)}
	session, err := s.sessions.Session(ctx, id)
	var a Account
	if err == nil {
		a, err = s.store.Account(ctx, session.Account)
	}
	switch {
	case errors.Is(err, ErrSessionNotFound), errors.Is(err, ErrAccountNotFound):
		e.err = ErrSessionEnded
	case err != nil && (known == nil || now.Sub(known.read) > storeOutage):
		return nil, err
	case err != nil:
		if !known.unchecked {
			s.opts.Logger.WarnContext(ctx, "failed to check session; using last known state", "session", id, "error", err)
		}
		kept := *known
		kept.unchecked = true
		kept.next = e.next
		e = &kept
	case !session.alive(now), a.Disabled:
		e.err = ErrSessionEnded
	default:
		e.SessionInfo, e.expires = SessionInfo{Account: a.Name, Role: a.Role}, session.ExpiresAt
	}
	s.live.put(id, e, generation)
	return e, nil
}

func (l *liveSessions) put(id string, e *liveSession, generation uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if generation != l.generation {
		return
	}
	if len(l.byID) >= maxLive {
		for some := range l.byID { // any will do: it is read again when it is needed
			delete(l.byID, some)
			break
		}
	}
	l.byID[id] = e
}

func (l *liveSessions) drop(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	delete(l.byID, id)
}

func (l *liveSessions) dropAccount(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.generation++
	for id, e := range l.byID {
		if FoldName(e.Account) == FoldName(name) {
			delete(l.byID, id)
		}
	}
}

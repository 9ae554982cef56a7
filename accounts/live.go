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
	// While the store cannot be read nobody can end a session either, so what was last known stands,
	// up to this long.
	storeOutage = 5 * time.Minute
	readTimeout = 2 * time.Second
)

// Live is what holds now for a session that has not ended.
type Live struct {
	Account string
	Role    Role
}

type liveSession struct {
	Live
	expires time.Time
	read    time.Time // when the store last answered
	next    time.Time // when to ask it again
	err     error     // ErrSessionEnded, or nil
}

// liveSessions remembers what was read of sessions. generation grows with every drop, so that a
// reading which began before a drop is not kept after it.
type liveSessions struct {
	mu         sync.RWMutex
	byID       map[string]*liveSession // entries are never changed
	generation uint64
}

// Live says whose a session is and what role it has now, or gives [ErrSessionEnded]. It costs a
// look into memory, and a look into the store at most once in Options.Recheck per session. What
// this service itself changes is seen at once.
func (s *Service) Live(ctx context.Context, sessionID string) (Live, error) {
	now := s.opts.Now()
	s.live.mu.RLock()
	e, generation := s.live.byID[sessionID], s.live.generation
	s.live.mu.RUnlock()
	if e == nil || !now.Before(e.next) {
		var err error
		if e, err = s.readLive(ctx, sessionID, e, generation); err != nil {
			return Live{}, err
		}
	}
	if e.err != nil {
		return Live{}, e.err
	}
	if !now.Before(e.expires) {
		return Live{}, ErrSessionEnded
	}
	return e.Live, nil
}

func (s *Service) readLive(ctx context.Context, id string, known *liveSession, generation uint64) (*liveSession, error) {
	// With the generation in the key nobody joins a reading that began before a change.
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
	e := &liveSession{read: now, next: now.Add(s.opts.Recheck)}
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
		s.opts.Logger.WarnContext(ctx, "session was not checked, the last known state stands", "session", id, "error", err)
		kept := *known
		kept.next = e.next
		e = &kept
	case !session.alive(now):
		e.err = ErrSessionEnded
	default:
		e.Live, e.expires = Live{Account: a.Name, Role: a.Role}, session.ExpiresAt
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

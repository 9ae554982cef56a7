package aasapi

import (
	"context"
	"sync"
	"time"

	"github.com/otkit/otkit/transport/problem"
)

// invocation is an asynchronous call of an operation or, without submodelID and path, a bulk change of a
// registry. done is closed when outcome is there.
type invocation struct {
	submodelID, path string
	owner            string // the only one who may ask for it; empty where callers have no names
	form             argumentForm
	started          time.Time
	done             chan struct{}
	outcome          outcome
	ended            time.Time
	bytes            int64 // of the outcome, about
}

// invocations owns the asynchronous calls: those that run, and those whose results are kept.
type invocations struct {
	max  int
	room int64 // for the bytes of results
	keep time.Duration
	now  func() time.Time
	ctx  context.Context // ends with the API
	end  context.CancelFunc

	mu      sync.Mutex
	running sync.WaitGroup
	closed  bool
	byKey   map[string]*invocation
	ended   []string // handles of those that have ended, the oldest first
	bytes   int64    // of their results
}

func newInvocations(o Options) *invocations {
	ctx, end := context.WithCancel(context.Background())
	return &invocations{max: o.MaxInvocations, room: o.MaxResultBytes, keep: o.KeepResults, now: o.Now, ctx: ctx, end: end, byKey: make(map[string]*invocation)}
}

// start runs a call and returns its handle. The call keeps the values of the request's context, but not
// its end.
func (s *invocations) start(ctx context.Context, i *invocation, timeout time.Duration, run func(context.Context) outcome) (string, error) {
	handle := problem.NewTraceID()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	if len(s.byKey) >= s.max && len(s.ended) > 0 {
		s.dropOldest()
	}
	if s.closed || len(s.byKey) >= s.max {
		return "", errTooManyRunning.With("retryAfter", "10")
	}
	i.owner, i.started, i.done = problem.Subject(ctx), s.now(), make(chan struct{})
	s.byKey[handle] = i
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	unhook := context.AfterFunc(s.ctx, cancel)
	s.running.Go(func() {
		defer cancel()
		defer unhook()
		o := run(ctx)
		size := o.size()
		s.mu.Lock()
		i.outcome, i.ended, i.bytes = o, s.now(), size
		s.ended, s.bytes = append(s.ended, handle), s.bytes+size
		for s.bytes > s.room && len(s.ended) > 1 {
			s.dropOldest()
		}
		s.mu.Unlock()
		close(i.done)
	})
	return handle, nil
}

// forget drops results that are too old; mu is held.
func (s *invocations) forget() {
	oldest := s.now().Add(-s.keep)
	for len(s.ended) > 0 && s.byKey[s.ended[0]].ended.Before(oldest) {
		s.dropOldest()
	}
}

// dropOldest drops the result of the invocation that ended first; mu is held.
func (s *invocations) dropOldest() {
	handle := s.ended[0]
	s.bytes -= s.byKey[handle].bytes
	delete(s.byKey, handle)
	s.ended = s.ended[1:]
}

// find returns the call of a handle that is the caller's, and whether it has ended.
func (s *invocations) find(ctx context.Context, handle, submodelID, path string) (i *invocation, ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	i = s.byKey[handle]
	if i == nil || i.owner != problem.Subject(ctx) || i.submodelID != submodelID || i.path != path {
		return nil, false, errHandleNotFound
	}
	return i, !i.ended.IsZero(), nil
}

func (s *invocations) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package linked

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/tags"
)

// defaultWriteTime is the time for a write whose context has no deadline.
const defaultWriteTime = 10 * time.Second

// Errors of writes that have certainly not been carried out.
var (
	errNotSent  = errors.New("the link of the bridge ended before the value was sent")
	errNoTime   = errors.New("the time for the write was over before the value was sent")
	errNoRoom   = errors.New("too many writes wait to be sent to the bridge")
	errOutcome  = errors.New("the bridge reported an outcome that is not known")
	errLate     = errors.New("the bridge did not report the outcome in time")
	errCut      = errors.New("the link of the bridge ended before the outcome was reported")
	errNoBrowse = errors.New("the bridge cannot list the points of its device")
)

// calls are the writes and browses of a link that have no answer yet.
type calls struct {
	mu      sync.Mutex
	last    uint64
	writes  map[uint64]chan<- *link.Written
	browses map[uint64]chan<- *link.Browsed
}

func newCalls() *calls {
	return &calls{writes: make(map[uint64]chan<- *link.Written), browses: make(map[uint64]chan<- *link.Browsed)}
}

// id returns the next id.
func (c *calls) id() uint64 {
	c.last++
	return c.last
}

func (c *calls) written(w *link.Written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.writes[w.ID]; ok {
		answer <- w // it has room for each write
		delete(c.writes, w.ID)
	}
}

func (c *calls) browsed(b *link.Browsed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.browses[b.ID]; ok {
		answer <- b
		delete(c.browses, b.ID)
	}
}

// Write implements tags.Driver. The writes are sent together and in order.
func (b *bridge) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	s := b.current()
	if s == nil {
		for i := range errs {
			errs[i] = errNotSent
		}
		return tags.ErrNotConnected
	}
	left := defaultWriteTime
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end)
	}
	s.write(ctx, items, errs, s.now().Add(left*4/5)) // the rest is for the way back
	return nil
}

func (s *session) write(ctx context.Context, items []tags.WriteItem, errs []error, deadline time.Time) {
	answers := make(chan *link.Written, len(items))
	requests, index := make([]*request, len(items)), make(map[uint64]int, len(items))
	s.calls.mu.Lock()
	for i, item := range items {
		id := s.calls.id()
		index[id], s.calls.writes[id] = i, answers
		requests[i] = &request{frame: link.FromEngine{Write: &link.Write{ID: id, Tag: item.Point.Address, Value: item.Value, Deadline: deadline}}}
	}
	s.calls.mu.Unlock()
	defer s.calls.forget(index)
	if !s.out.add(requests...) {
		for i := range errs {
			errs[i] = errNoRoom
		}
		return
	}
	for range items {
		select {
		case w := <-answers:
			i := index[w.ID]
			errs[i], requests[i] = outcome(w), nil
			continue
		case <-ctx.Done():
			s.abandon(requests, errs, errNoTime, errLate)
		case <-s.ctx.Done():
			s.abandon(requests, errs, errNotSent, errCut)
		}
		return
	}
}

// abandon sets the errors of the writes that have no outcome.
func (s *session) abandon(requests []*request, errs []error, unsent, sent error) {
	for i, r := range requests {
		switch {
		case r == nil:
		case s.out.withdraw(r):
			errs[i] = unsent
		default:
			errs[i] = fmt.Errorf("%w: %w", tags.ErrUncertain, sent)
		}
	}
}

func (c *calls) forget(index map[uint64]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range index {
		delete(c.writes, id)
	}
}

// maxErrorText is how much of a bridge's error is shown, in bytes.
const maxErrorText = 512

// outcome returns the error of a write.
func outcome(w *link.Written) error {
	text := errors.New(runes.Shorten(w.Error, maxErrorText))
	switch w.Outcome {
	case link.OutcomeDone:
		return nil
	case link.OutcomeFailed:
		return text
	case link.OutcomeUncertain:
		return fmt.Errorf("%w: %w", tags.ErrUncertain, text)
	}
	return fmt.Errorf("%w: %w", tags.ErrUncertain, errOutcome)
}

// browse asks the bridge for the points of its device.
func (s *session) browse(ctx context.Context) ([]link.ManifestTag, error) {
	answer := make(chan *link.Browsed, 1)
	s.calls.mu.Lock()
	id := s.calls.id()
	s.calls.browses[id] = answer
	s.calls.mu.Unlock()
	defer func() {
		s.calls.mu.Lock()
		delete(s.calls.browses, id)
		s.calls.mu.Unlock()
	}()
	r := &request{frame: link.FromEngine{Browse: &link.Browse{ID: id}}}
	if !s.out.add(r) {
		return nil, errNoRoom
	}
	select {
	case b := <-answer:
		if b.Error != "" {
			return nil, fmt.Errorf("%w: %s", errNoBrowse, runes.Shorten(b.Error, maxErrorText))
		}
		return b.Tags, nil
	case <-s.ctx.Done():
		return nil, tags.ErrNotConnected
	case <-ctx.Done():
		s.out.withdraw(r)
		return nil, ctx.Err()
	}
}

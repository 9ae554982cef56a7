package wake

import "sync"

// Subscribers is a set of receivers that events are published to. The zero Subscribers is empty and ready for use, which may be
// concurrent; it must not be copied.
type Subscribers[S comparable] struct {
	mu     sync.Mutex
	all    map[S]struct{}
	closed bool
}

// Add adds a subscriber and reports whether it did; it does not after Close.
func (s *Subscribers[S]) Add(sub S) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.all == nil {
		s.all = make(map[S]struct{})
	}
	s.all[sub] = struct{}{}
	return true
}

// Remove removes a subscriber. It does nothing when there is no such subscriber.
func (s *Subscribers[S]) Remove(sub S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sub)
}

// Publish calls send for every subscriber and removes those for which it returns false. Calls of Publish follow each other, so
// every subscriber sees all events in the same order. send must neither block nor call methods of s.
func (s *Subscribers[S]) Publish(send func(S) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.all {
		if !send(sub) {
			delete(s.all, sub)
		}
	}
}

// Close removes all subscribers after calling end for each, and lets Add refuse others. end must neither block nor call methods of s.
func (s *Subscribers[S]) Close(end func(S)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for sub := range s.all {
		end(sub)
	}
	s.all = nil
}

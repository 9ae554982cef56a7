package tags

// Held returns the number of tags that the subscription has room for.
func (s *Subscription) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// Planned returns the number of places in the engine's wheel of tags that can grow old.
func (e *Engine) Planned() (n int) {
	e.wheel.mu.Lock()
	defer e.wheel.mu.Unlock()
	for _, list := range e.wheel.slots {
		n += len(list)
	}
	return n
}

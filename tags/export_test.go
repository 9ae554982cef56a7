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

// Lose returns a call that makes a tag Bad as the loss of its driver does, also when the tag was removed in between.
func (e *Engine) Lose(name string) func() bool {
	en, err := e.find(name)
	if err != nil {
		panic(err)
	}
	return func() bool {
		_, told := en.degrade(Bad, ReasonNotConnected, e.now())
		return told
	}
}

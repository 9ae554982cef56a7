package wake

import "sync"

// Signal wakes one goroutine. Signals that are set while one is pending are one. Make it with [NewSignal]; it is safe for concurrent
// use, and a copy is the same signal.
type Signal struct{ c chan struct{} }

// NewSignal returns a signal that is not set.
func NewSignal() Signal { return Signal{make(chan struct{}, 1)} }

// Set sets the signal. It never blocks.
func (s Signal) Set() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// C returns the channel that receives a value when the signal is set. The receive resets the signal.
func (s Signal) C() <-chan struct{} { return s.c }

// Broadcast wakes every goroutine that waits. The zero Broadcast is ready for use, which may be concurrent; it must not be copied.
type Broadcast struct {
	mu sync.Mutex
	c  chan struct{}
}

// C returns a channel that the next Send closes. Ask for it before reading the state that is waited for, else a change between the
// two is missed.
func (b *Broadcast) C() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

// Send wakes all that wait.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

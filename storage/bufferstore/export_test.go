package bufferstore

import (
	"context"
	"time"
)

// SetMonotonic sets the clock that only passes.
func SetMonotonic(o *Options, f func() time.Duration) { o.monotonic = f }

// Sweep does what the timer does.
func (s *Store) Sweep(ctx context.Context) { s.sweep(ctx) }

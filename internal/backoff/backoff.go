// Package backoff computes the delays between attempts that fail.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Delay returns the delay after a number of failures in a row, from 1: first, doubled with each further failure up to limit.
func Delay(first, limit time.Duration, failures int) time.Duration {
	if n := max(failures, 1) - 1; n < 62 && first <= limit>>n {
		return first << n
	}
	return limit
}

// Jitter spreads a delay over 80 to 100 percent of it, so that what failed together does not come back together.
func Jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.2*rand.Float64()))
}

// Wait waits for a delay and reports whether it passed before ctx ended.
func Wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

package backoff_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/backoff"
)

func Example() {
	for failures := range 6 {
		fmt.Print(backoff.Delay(time.Second, 10*time.Second, failures), " ")
	}
	// Output: 1s 1s 2s 4s 8s 10s
}

func TestDelaysNeverOverflow(t *testing.T) {
	for _, failures := range []int{62, 63, 64, 1000, math.MaxInt} {
		require.Equal(t, time.Hour, backoff.Delay(time.Nanosecond, time.Hour, failures))
	}
	require.Equal(t, time.Second, backoff.Delay(time.Minute, time.Second, 1), "the limit holds for the first delay, too")
	require.Equal(t, time.Duration(math.MaxInt64), backoff.Delay(time.Second, math.MaxInt64, 100))
	for range 1000 {
		d := backoff.Jitter(time.Second)
		require.True(t, d >= 800*time.Millisecond && d <= time.Second, d)
	}
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.True(t, backoff.Wait(t.Context(), time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, backoff.Wait(ctx, time.Hour))
	})
}

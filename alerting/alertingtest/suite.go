package alertingtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// base is a fixed time with the precision that stores must keep: microseconds.
var base = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.UTC)

const callers = 8

type test[S any] struct {
	name string
	run  func(*testing.T, S)
}

func runAll[S any](t *testing.T, newStore func(testing.TB) S, tests []test[S]) {
	t.Helper()
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) { c.run(t, newStore(t)) })
	}
}

// id returns a GUID; ids of ascending numbers ascend.
func id(n int) string { return fmt.Sprintf("01890000-0000-7000-8000-%012x", n) }

func freshID() string { return uuid.Must(uuid.NewV7()).String() }

// together runs f in several goroutines that start at the same time, and waits for them.
func together(f func(caller int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// sameTime requires that two times are the same instant, or both zero.
func sameTime(t *testing.T, want, got time.Time, what string) {
	t.Helper()
	require.Equal(t, want.IsZero(), got.IsZero(), "%s is %v, not %v", what, got, want)
	require.True(t, want.Equal(got), "%s is %v, not %v", what, got, want)
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

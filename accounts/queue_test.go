package accounts

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// row enters waiters and notes the order of their turns.
type row struct {
	t  *testing.T
	q  *queue
	wg sync.WaitGroup

	mu      sync.Mutex
	turns   []string
	refused []string
}

// come has somebody wait, behind all who came before.
func (r *row) come(ctx context.Context, name, address string, rank rank) {
	r.wg.Go(func() {
		done, err := r.q.enter(ctx, address, rank)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.refused = append(r.refused, name)
			return
		}
		r.turns = append(r.turns, name)
		time.AfterFunc(time.Millisecond, done) // when all that have a turn are noted
	})
	synctest.Wait()
}

func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{t: t, q: newQueue(1, 8)}
		busy, err := r.q.enter(t.Context(), "x", stranger)
		require.NoError(t, err)
		for i := range 3 {
			r.come(t.Context(), fmt.Sprint("flood", i), "flood", stranger)
		}
		r.come(t.Context(), "other", "elsewhere", stranger)
		r.come(t.Context(), "colleague", "office", neighbor)
		r.come(t.Context(), "anna", "office", familiar)
		gone, cancel := context.WithCancel(t.Context())
		r.come(gone, "gave up", "elsewhere", familiar)
		cancel()
		synctest.Wait()
		busy()
		r.wg.Wait()
		require.Equal(t, []string{"anna", "colleague", "flood0", "other", "flood1", "flood2"}, r.turns)
		require.Equal(t, []string{"gave up"}, r.refused)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, r.q.free)
		require.Zero(t, r.q.waiting)
	})
}

// 140 connections of one address, or of as many, keep nobody out who is known, and one address no other one.
func TestAFloodIsTurnedAwayFirst(t *testing.T) {
	for name, address := range map[string]func(i int) string{
		"one address":    func(int) string { return "flood" },
		"many addresses": func(i int) string { return fmt.Sprint("flood", i) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &row{t: t, q: newQueue(2, 128)}
				for range 2 {
					done, err := r.q.enter(t.Context(), "x", stranger)
					require.NoError(t, err)
					time.AfterFunc(time.Second, done)
				}
				for i := range 140 {
					r.come(t.Context(), fmt.Sprint("flood", i), address(i), stranger)
				}
				require.Len(t, r.refused, 12)
				r.come(t.Context(), "anna", "office", familiar)
				r.come(t.Context(), "colleague", "office", neighbor)
				r.come(t.Context(), "newcomer", "elsewhere", stranger)
				time.Sleep(time.Second)
				r.wg.Wait()
				require.Subset(t, r.turns[:3], []string{"anna", "colleague"})
				if name == "one address" {
					require.Contains(t, r.turns[:5], "newcomer")
				}
				require.Len(t, r.turns, 128)
			})
		})
	}
}

// A flood from an address from which somebody has a session keeps nobody out who comes from a new address.
func TestAFloodOfAKnownAddressKeepsNoNewcomerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &row{t: t, q: newQueue(2, 128)}
		for range 2 {
			done, err := r.q.enter(t.Context(), "x", stranger)
			require.NoError(t, err)
			time.AfterFunc(time.Second, done)
		}
		for i := range 140 {
			r.come(t.Context(), fmt.Sprint("flood", i), "office", neighbor)
		}
		r.come(t.Context(), "newcomer", "elsewhere", stranger)
		r.come(t.Context(), "anna", "office", familiar)
		time.Sleep(time.Second)
		r.wg.Wait()
		require.NotContains(t, r.refused, "newcomer")
		require.Contains(t, r.turns[:4], "anna")
		require.Contains(t, r.turns[:5], "newcomer")
		require.Len(t, r.turns, 128)
	})
}

package accountstest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otkit/otkit/accounts"
	"github.com/stretchr/testify/require"
)

const callers = 16

// together runs f in several goroutines that start at the same moment and waits for all.
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

func testConcurrentAdd(t *testing.T, s Store) {
	var won, lost atomic.Int32
	together(func(i int) {
		name := "anna"
		if i%2 == 1 {
			name = "ANNA"
		}
		switch err := s.AddAccount(t.Context(), account(name)); {
		case err == nil:
			won.Add(1)
		case errors.Is(err, accounts.ErrAccountExists):
			lost.Add(1)
		default:
			t.Errorf("add: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
	require.EqualValues(t, callers-1, lost.Load())
}

func testConcurrentAccountUpdates(t *testing.T, s Store) {
	const each = 10
	add(t, s, "anna")
	together(func(int) {
		for range each {
			err := s.UpdateAccount(t.Context(), "anna", func(a *accounts.Account) error {
				a.UpdatedAt = a.UpdatedAt.Add(time.Second)
				return nil
			})
			if err != nil {
				t.Errorf("update: %v", err)
			}
		}
	})
	got, err := s.Account(t.Context(), "anna")
	require.NoError(t, err)
	want := account("anna")
	want.UpdatedAt = want.UpdatedAt.Add(callers * each * time.Second)
	sameAccount(t, want, got)
}

func testConcurrentRotation(t *testing.T, s Store) {
	add(t, s, "anna")
	require.NoError(t, s.AddSession(t.Context(), session("s1", "anna")))
	first := string(session("s1", "anna").RefreshHash)
	var won atomic.Int32
	var winner atomic.Value
	together(func(i int) {
		mine := fmt.Sprintf("rotation %d", i)
		err := s.UpdateSession(t.Context(), "s1", func(s *accounts.Session) error {
			if string(s.RefreshHash) != first {
				return errRefused
			}
			s.RefreshHash = []byte(mine)
			return nil
		})
		switch {
		case err == nil:
			won.Add(1)
			winner.Store(mine)
		case !errors.Is(err, errRefused):
			t.Errorf("update: %v", err)
		}
	})
	require.EqualValues(t, 1, won.Load())
	got, err := s.Session(t.Context(), "s1")
	require.NoError(t, err)
	require.Equal(t, winner.Load(), string(got.RefreshHash))
}

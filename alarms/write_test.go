package alarms_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// silent is a store that may stop to answer, before a change is asked for or at its commit, as a database
// does that has lost its power. Calls end with their context.
type silent struct {
	*alarms.Memory
	before, commit atomic.Bool
}

func (s *silent) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.before.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		changes, err := change(next, found)
		if err == nil && s.commit.Load() {
			<-ctx.Done()
			return changes, ctx.Err()
		}
		return changes, err
	})
}

func TestCallOfASilentStoreEndsWithItsContext(t *testing.T) {
	for name, c := range map[string]struct {
		stop    func(*silent)
		unknown bool
	}{
		"before it began": {func(s *silent) { s.before.Store(true) }, false},
		"at its commit":   {func(s *silent) { s.commit.Store(true) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &silent{Memory: alarms.NewMemory()}
				s, err := alarms.New(t.Context(), store, alarms.Options{})
				require.NoError(t, err)
				c.stop(store)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				_, err = s.Raise(ctx, pump("a"))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, c.unknown, errors.Is(err, alarms.ErrOutcomeUnknown), "%v", err)
				require.Equal(t, 2*time.Second, time.Since(start))
				store.before.Store(false)
				store.commit.Store(false)
				require.NoError(t, s.Close(context.Background()))
				page, err := store.Occurrences(t.Context(), alarms.Query{Limit: 10})
				require.NoError(t, err)
				require.Empty(t, page.Occurrences)
			})
		})
	}
}

func TestSilentStoreIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &silent{Memory: alarms.NewMemory()}
		s, err := alarms.New(t.Context(), store, alarms.Options{WriteTimeout: 5 * time.Second})
		require.NoError(t, err)
		store.commit.Store(true)
		var calls sync.WaitGroup
		for _, key := range []string{"a", "b", "c"} {
			calls.Go(func() {
				_, err := s.Raise(t.Context(), pump(key))
				require.ErrorIs(t, err, alarms.ErrOutcomeUnknown)
			})
		}
		calls.Wait()
		store.commit.Store(false)
		raise(t, s, pump("d"))
		store.before.Store(true)
		for range 5 {
			calls.Go(func() {
				_, err := s.Raise(t.Context(), pump("e"))
				require.ErrorIs(t, err, alarms.ErrOutcomeUnknown)
			})
		}
		synctest.Wait()
		start := time.Now()
		require.NoError(t, s.Close(context.Background()))
		require.LessOrEqual(t, time.Since(start), 5*time.Second)
		calls.Wait()
	})
}

func TestCloseWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &silent{Memory: alarms.NewMemory()}
		s, err := alarms.New(t.Context(), store, alarms.Options{WriteTimeout: time.Hour})
		require.NoError(t, err)
		store.before.Store(true)
		raised := make(chan error, 1)
		go func() { _, err := s.Raise(t.Context(), pump("a")); raised <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.NoError(t, s.Close(ctx))
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, <-raised, alarms.ErrOutcomeUnknown)
		require.NoError(t, s.Close(ctx), "once more")
	})
}

func TestCloseThoughCallsWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &silent{Memory: alarms.NewMemory()}
		s, err := alarms.New(t.Context(), store, alarms.Options{MaxPending: 1})
		require.NoError(t, err)
		store.before.Store(true)
		var calls sync.WaitGroup
		for range 5 {
			calls.Go(func() {
				_, err := s.Raise(t.Context(), pump("a"))
				require.Error(t, err)
			})
			synctest.Wait()
		}
		start := time.Now()
		require.NoError(t, s.Close(context.Background()))
		require.LessOrEqual(t, time.Since(start), 30*time.Second)
		calls.Wait()
	})
}

// forgetful is a store that stores something and says that it has not, once.
type forgetful struct {
	*alarms.Memory
	lose, blind atomic.Bool
	gate        atomic.Pointer[chan struct{}]
}

var errLost = errors.New("the connection was lost at the commit")

func (s *forgetful) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if gate := s.gate.Load(); gate != nil {
		<-*gate
	}
	err := s.Memory.Write(ctx, refs, change)
	if err == nil && s.lose.CompareAndSwap(true, false) {
		return errLost
	}
	return err
}

func (s *forgetful) Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error) {
	if s.blind.Load() {
		return nil, errLost
	}
	return s.Memory.Events(ctx, after, limit)
}

// TestWordOfACommitIsLost has several calls written together, whose transaction is stored though the store
// says that it failed.
func TestWordOfACommitIsLost(t *testing.T) {
	for name, blind := range map[string]bool{"the journal tells": false, "nothing tells": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &forgetful{Memory: alarms.NewMemory()}
				s := service(t, store, alarms.Options{})
				sub, err := s.Subscribe(alarms.SubscribeOptions{All: true})
				require.NoError(t, err)
				defer sub.Close()
				o := raise(t, s, pump("a"))
				gate := make(chan struct{})
				store.gate.Store(&gate)
				var calls sync.WaitGroup
				calls.Go(func() {
					_, err := s.Raise(t.Context(), pump("b"))
					require.NoError(t, err)
				})
				synctest.Wait()
				var won, unknown atomic.Int64
				for range 3 { // they wait for the raise
					calls.Go(func() {
						switch _, err := s.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", ""); {
						case err == nil:
							won.Add(1)
						case errors.Is(err, alarms.ErrOutcomeUnknown):
							unknown.Add(1)
						default:
							require.ErrorIs(t, err, alarms.ErrAlreadyAcknowledged)
						}
					})
				}
				synctest.Wait()
				gate <- struct{}{} // the raise
				synctest.Wait()
				store.lose.Store(true)
				store.blind.Store(blind)
				close(gate)
				calls.Wait()
				if blind {
					require.EqualValues(t, 3, unknown.Load())
					return
				}
				require.EqualValues(t, 1, won.Load())
				events, err := sub.Next(t.Context(), 0)
				require.NoError(t, err)
				require.Equal(t, alarms.Acknowledged, events[len(events)-1].Kind, "subscribers hear of it")
			})
		})
	}
}

// TestCallThatWasGivenUpIsNotDone has a caller give up while the store is asked, which answers later.
func TestCallThatWasGivenUpIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &forgetful{Memory: alarms.NewMemory()}
		s := service(t, store, alarms.Options{})
		gate := make(chan struct{})
		store.gate.Store(&gate)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Raise(ctx, pump("a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, alarms.ErrOutcomeUnknown)
		close(gate)
		synctest.Wait()
		active, err := s.Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, active)
	})
}

// A signal that is not valid any more when its turn in the store comes is not stored; what shares the transaction with it is.
func TestASignalThatLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &silent{Memory: alarms.NewMemory()}
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		var lapsed atomic.Bool
		a, b, c := pump("a"), pump("b"), pump("c")
		held := func() bool { return !lapsed.Load() }
		_, err = s.Apply(t.Context(), []alarms.Signal{{Raise: &a, Valid: held}})
		require.NoError(t, err)
		lapsed.Store(true)
		var calls sync.WaitGroup
		calls.Go(func() {
			_, err := s.Apply(t.Context(), []alarms.Signal{{Raise: &c}, {Key: a.Key, Valid: held}})
			require.ErrorIs(t, err, alarms.ErrSignalLapsed)
		})
		calls.Go(func() { raise(t, s, b) })
		calls.Wait()
		active, err := s.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, []string{active[1].Key, active[0].Key})
	})
}

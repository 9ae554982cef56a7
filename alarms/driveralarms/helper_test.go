package driveralarms_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func service(t testing.TB, store alarms.Store, o alarms.Options) *alarms.Service {
	t.Helper()
	s, err := alarms.New(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	*alarms.Memory
	broken atomic.Bool
	hold   chan struct{} // when not nil, a write waits for it
}

var errLost = errors.New("the connection was lost at the commit")

var errDisk = errors.New("disk is full")

func (f *flaky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if f.hold != nil {
		<-f.hold
	}
	if f.broken.Load() {
		return errDisk
	}
	return f.Memory.Write(ctx, refs, change)
}

// doubtful is a store that is lost at a commit, so that nobody knows what has become of it.
type doubtful struct {
	*alarms.Memory
	dead, atCommit, stores atomic.Bool
}

// loseOne has the store answer until its next commit, after which it is lost again.
func (s *doubtful) loseOne(stored bool) {
	s.stores.Store(stored)
	s.atCommit.Store(true)
	s.dead.Store(false)
}

func (s *doubtful) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.dead.Load() {
		return errLost
	}
	lost := false
	err := s.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		changes, err := change(next, found)
		if err == nil && s.atCommit.CompareAndSwap(true, false) {
			s.dead.Store(true)
			if lost = true; !s.stores.Load() {
				err = errLost
			}
		}
		return changes, err
	})
	if lost {
		return errLost
	}
	return err
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

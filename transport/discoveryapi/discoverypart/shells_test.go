package discoverypart

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
)

// brokenStore has no manifests.
type brokenStore struct {
	*discovery.Memory
	reads atomic.Int64
}

func (s *brokenStore) Manifest(context.Context, string) (link.Manifest, error) {
	s.reads.Add(1)
	return link.Manifest{}, errors.New("disk is full")
}

// A manifest may have 100,000 tags: what fails is not tried twice a second.
func TestShellsThatFailAreTriedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &brokenStore{Memory: discovery.NewMemory()}
		s := newShells(store, nil, slog.New(slog.DiscardHandler))
		s.add("press-1")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.run(ctx)
		}()
		time.Sleep(time.Hour)
		require.Greater(t, store.reads.Load(), int64(55))
		require.Less(t, store.reads.Load(), int64(75))
		before := store.reads.Load()
		s.add("press-1")
		time.Sleep(time.Second)
		require.Equal(t, before+1, store.reads.Load(), "a change is tried soon")
		cancel()
		<-done
	})
}

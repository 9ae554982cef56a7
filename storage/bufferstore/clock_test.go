package bufferstore_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/storage/bufferstore"
)

// clocks are a wall clock that can be set, and one that only passes.
type clocks struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

func (c *clocks) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(d), c.mono+d
}

func (c *clocks) set(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

func (c *clocks) options(o *bufferstore.Options) {
	o.TTL = 24 * time.Hour
	o.Now = func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.wall
	}
	bufferstore.SetMonotonic(o, func() time.Duration {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.mono
	})
}

func TestOldBlocksExpire(t *testing.T) {
	c := &clocks{wall: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)}
	s := open(t, filepath.Join(t.TempDir(), "buffer.db"), c.options)
	for i := range uint64(100) {
		require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(1+i, 1, 10)}))
		c.pass(time.Hour)
	}
	s.Sweep(t.Context())
	stats, err := s.Stats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 77, stats.First, "24 hours old, but not older")
	require.EqualValues(t, 76, stats.Expired)
	require.Zero(t, stats.Dropped)
	require.Equal(t, c.wall.Add(-24*time.Hour), stats.Oldest)
}

func TestAClockThatIsSetDoesNotAgeBlocks(t *testing.T) {
	for _, jump := range []time.Duration{30 * 24 * time.Hour, -30 * 24 * time.Hour, 50 * 365 * 24 * time.Hour} {
		c := &clocks{wall: time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)}
		path := filepath.Join(t.TempDir(), "buffer.db")
		s := open(t, path, c.options)
		appendOne := func(n uint64) { require.NoError(t, s.Append(t.Context(), s.Epoch(), []link.Block{block(n, 1, 10)})) }
		entries := func() uint64 {
			s.Sweep(t.Context())
			stats, err := s.Stats(t.Context())
			require.NoError(t, err)
			return stats.Entries
		}
		appendOne(1)
		c.pass(10 * time.Hour)
		c.set(jump)
		appendOne(2)
		require.EqualValues(t, 2, entries())
		stats, err := s.Stats(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, c.wall.Add(-10*time.Hour), stats.Oldest, time.Second, "by the clock as it is set now")
		require.NoError(t, s.Close(t.Context()))
		c.pass(10 * time.Hour) // the process does not run
		s = open(t, path, c.options)
		appendOne(3)
		require.EqualValues(t, 3, entries())
		c.pass(5 * time.Hour)
		require.EqualValues(t, 2, entries())
		c.pass(24 * time.Hour)
		require.Zero(t, entries())
	}
}

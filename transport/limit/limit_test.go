package limit

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
)

func TestRate(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRate(10, func() time.Time { return now })
	for range 100 {
		require.NoError(t, r.Allow("a"))
	}
	require.ErrorIs(t, r.Allow("a"), ErrTooFast)
	require.NoError(t, r.Allow("b"), "another caller is not held back")
	now = now.Add(time.Second)
	for range 10 {
		require.NoError(t, r.Allow("a"))
	}
	require.ErrorIs(t, r.Allow("a"), ErrTooFast)
	require.EqualValues(t, 2, r.Refused())
}

func TestInterval(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewInterval(time.Minute, 3, func() time.Time { return now })
	for range 3 {
		require.NoError(t, r.Allow("a"))
	}
	now = now.Add(15 * time.Second)
	err := r.Allow("a")
	require.ErrorIs(t, err, ErrTooFast)
	f, _ := fault.From(err)
	require.Equal(t, "45", f.Metadata["retryAfter"])
	now = now.Add(45 * time.Second)
	require.NoError(t, r.Allow("a"))
	require.ErrorIs(t, r.Allow("a"), ErrTooFast)
}

func TestNoLimit(t *testing.T) {
	r := NewRate(-1, nil)
	for range 100 {
		require.NoError(t, r.Allow("a"))
	}
	require.Zero(t, r.Refused())
}

// Strangers that come from ever new addresses neither fill the memory nor free one that is held back.
func TestManyKeys(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRate(1000, func() time.Time { return now })
	for r.Allow("flood") == nil {
	}
	for i := range 3 * maxKeys {
		require.NoError(t, r.Allow(fmt.Sprint(i)))
	}
	require.Len(t, r.buckets, maxKeys)
	require.ErrorIs(t, r.Allow("flood"), ErrTooFast)
}

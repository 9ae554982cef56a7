package predictive

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counting counts what is read and open at a time.
type counting struct {
	*plant
	yielded, open, most int
}

func (c *counting) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		c.open++
		c.most = max(c.most, c.open)
		defer func() { c.open-- }()
		c.plant.Samples(ctx, tag, from, to)(func(s Sample, err error) bool {
			c.yielded++
			return yield(s, err)
		})
	}
}

func TestTagsAreReadTogether(t *testing.T) {
	p := newSignals(3, 5000)
	h := &counting{plant: p}
	inputs := []input{{0, "m.t00", false}, {1, "m.t01", true}, {2, "m.t02", false}, {3, "none", false}}
	var order []int
	var last time.Time
	err := read(t.Context(), h, inputs, epoch, p.now, func(signal int, at time.Time, _ float64) error {
		require.False(t, at.Before(last))
		last = at
		order = append(order, signal)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, order, 15_000)
	require.Equal(t, []int{1, 0, 2, 1, 0, 2}, order[:6], "a setting comes before the other tags of its time")
	require.Equal(t, 1, h.most, "queries that are open at a time")
	require.Equal(t, 15_000, h.yielded)

	h.yielded = 0
	stop := errors.New("enough")
	require.ErrorIs(t, read(t.Context(), h, inputs, epoch, p.now, func(int, time.Time, float64) error { return stop }), stop)
	require.LessOrEqual(t, h.yielded, 3*pageSize, "no more than a page of each is read ahead")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, read(ctx, h, inputs, epoch, p.now, func(int, time.Time, float64) error { return nil }), context.Canceled)
}

// deaf is a history that ignores the range that it is asked for.
type deaf struct{ *plant }

func (d deaf) Samples(ctx context.Context, tag string, _, _ time.Time) iter.Seq2[Sample, error] {
	return d.plant.Samples(ctx, tag, time.Time{}, d.now.AddDate(10, 0, 0))
}

func TestEachSampleIsReadOnce(t *testing.T) {
	p := newSignals(1, 3000)
	count := 0
	require.NoError(t, read(t.Context(), deaf{p}, []input{{tag: "m.t00"}}, epoch.Add(time.Hour), epoch.Add(2000*time.Minute), func(_ int, at time.Time, _ float64) error {
		require.False(t, at.Before(epoch.Add(time.Hour)))
		require.True(t, at.Before(epoch.Add(2000*time.Minute)))
		count++
		return nil
	}))
	require.Equal(t, 1940, count)
}

package devices_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func ids(all []devices.Device) (found []string) {
	for _, d := range all {
		found = append(found, d.ID)
	}
	return found
}

func TestChangesAreReturnedOnceInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, drive, "c", "a", "b")
		all, position, err := r.Changes(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, ids(all))
		for _, id := range []string{"b", "c", "a", "c"} {
			r.report(id, devices.Working)
		}
		all, next, err := r.Changes(t.Context(), position)
		require.NoError(t, err)
		require.Equal(t, []string{"b", "a", "c"}, ids(all))
		quiet := errors.New("nothing changes")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, quiet)
		defer cancel()
		_, same, err := r.Changes(ctx, next)
		require.ErrorIs(t, err, quiet)
		require.Equal(t, next, same)
		r.close()

		time.Sleep(time.Millisecond)
		r = newRig(t, store, drive)
		defer r.close()
		all, _, err = r.Changes(t.Context(), next)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b", "c"}, ids(all), "a position of an earlier process")
		all, _, err = r.Changes(t.Context(), next+uint64(time.Hour.Microseconds()))
		require.NoError(t, err)
		require.Len(t, all, 3, "whose clock was ahead")
	})
}

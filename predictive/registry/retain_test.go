package registry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/registry"
)

// Trainings need no token. As many as anybody likes leave models of other days to go back to.
func TestManyTrainingsInADayLeaveVersionsOfOtherDays(t *testing.T) {
	for name, serves := range map[string]bool{"each serves": true, "only the first serves": false} {
		t.Run(name, func(t *testing.T) {
			r := open(t, registry.Options{Dir: t.TempDir(), Keep: 6})
			now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
			train := func(n int, every time.Duration) {
				for range n {
					_, err := r.Put(t.Context(), predictive.Meta{ModelType: rul, TrainedAt: now, Default: serves || len(versions(t, r)) == 0}, []byte("model"))
					require.NoError(t, err)
					now = now.Add(every)
				}
			}
			kept := func(want ...int) {
				t.Helper()
				if !serves && !slices.Contains(want, 1) {
					want = append(want, 1)
				}
				require.Equal(t, want, versions(t, r))
			}
			train(8, 30*24*time.Hour)
			kept(8, 7, 6, 5, 4, 3)
			now = now.Add(-30*24*time.Hour + time.Minute) // right after v8
			train(20, time.Minute)
			kept(28, 27, 26, 8, 7, 6)
			train(20, time.Minute)
			kept(48, 47, 46, 8, 7, 6)
			now = now.Add(24 * time.Hour)
			train(20, time.Minute)
			kept(68, 67, 66, 49, 8, 7)
		})
	}
}

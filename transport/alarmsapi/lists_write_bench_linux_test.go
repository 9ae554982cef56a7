package alarmsapi

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/dbbench"
	"github.com/otkit/otkit/internal/storetest"
)

// BenchmarkListWrites measures what is written into a list of 10,000 alarms: what keeping counts costs.
func BenchmarkListWrites(b *testing.B) {
	dbbench.EachDatabase(b, func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func()) {
		s, err := alarms.New(b.Context(), db.Alarms(), alarms.Options{})
		require.NoError(b, err)
		defer s.Close(context.Background())
		raised := 10_000
		raiseMany(b, s, 0, raised)
		ready()
		dbbench.Measure(b, "raise-1000", cpu, func() error {
			raiseMany(b, s, raised, 1000)
			raised += 1000
			return nil
		})
		one := alarms.Alarm{Key: "app:one", Source: "line3.press", Message: "too hot", Severity: alarms.Error}
		dbbench.Measure(b, "raise-and-clear-1", cpu, func() error {
			if _, err := s.Raise(context.Background(), one); err != nil {
				return err
			}
			_, err := s.Clear(context.Background(), alarms.ByKey(one.Key), "", "")
			return err
		})
	})
}

package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/dispatch"
)

// lookups counts how often occurrences are read.
type lookups struct {
	*alarms.Service
	calls, ids atomic.Int64
}

func (l *lookups) OccurrencesByID(ctx context.Context, ids []string) ([]alarms.Occurrence, error) {
	l.calls.Add(1)
	l.ids.Add(int64(len(ids)))
	return l.Service.OccurrencesByID(ctx, ids)
}

// TestTheEndOfASilenceReadsItsAlarmsTogether silences two thousand alarms, of which some end, and looks at what the end
// of the silence reads and sends.
func TestTheEndOfASilenceReadsItsAlarmsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 2000
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		counting := &lookups{Service: k.alarms}
		k.journal = counting
		s := wanted()
		s.SourceType, s.Pattern, s.StartsAt, s.EndsAt = "*", "*", time.Now(), time.Now().Add(time.Hour)
		_, err := k.silences.Create(t.Context(), s)
		require.NoError(t, err)
		k.start(t, dispatch.Options{Jitter: func() float64 { return 0.5 }}, f)
		keys := make([]string, count)
		for i := range keys {
			keys[i] = fmt.Sprint("pump", i)
		}
		k.raise(t, alarms.Warning, keys...)
		pass(time.Minute)
		for _, key := range keys[:100] {
			_, err := k.alarms.Acknowledge(t.Context(), alarms.ByKey(key), "anna", "")
			require.NoError(t, err)
		}
		require.Empty(t, f.messages())
		counting.calls.Store(0)
		counting.ids.Store(0)
		pass(2 * time.Hour)
		require.Len(t, f.messages(), count-100)
		require.GreaterOrEqual(t, counting.ids.Load(), int64(count-100))
		require.LessOrEqual(t, counting.calls.Load(), int64(2*count/500+2), "alarms are read many at a time")
	})
}

package alarmstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// TestLateSamplesOfARule delivers samples of an outage, ends the process, and delivers them again.
func TestLateSamplesOfARule(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db, ctx := open(t, storage.Options{}), t.Context()
		require.NoError(t, db.AlarmRules().AddRule(ctx, rules.Rule{ID: "hot", Tag: "t", Kind: rules.High, Limit: 80, Severity: alarms.Critical, Enabled: true}))
		began := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
		sample := func(v float64, at time.Time, late bool) tags.Change {
			return tags.Change{Tag: &tags.Tag{Name: "t", Driver: "bridge", DataType: tags.Float}, Late: late,
				Sample: tags.Sample{Value: tags.FloatValue(v), Quality: tags.Good, SourceTime: at, ServerTime: time.Now()}}
		}
		for range 2 {
			service, err := alarms.New(ctx, db.Alarms(), alarms.Options{})
			require.NoError(t, err)
			r, err := rules.New(ctx, db.AlarmRules(), service, rules.Options{})
			require.NoError(t, err)
			r.Observe([]tags.Change{sample(50, time.Now(), false)})
			for i, v := range []float64{70, 90, 90, 70, 85, 60} {
				r.Observe([]tags.Change{sample(v, began.Add(time.Duration(i)*time.Second), true)})
			}
			require.NoError(t, r.Close(ctx))
			require.NoError(t, service.Close(ctx))
		}
		page, err := db.Alarms().Occurrences(ctx, alarms.Query{State: alarms.ListReturned, Limit: 10})
		require.NoError(t, err)
		require.Len(t, page.Occurrences, 2, "each is told once")
		for i, at := range []int{4, 1} {
			o := page.Occurrences[i]
			require.True(t, o.Late())
			require.Equal(t, began.Add(time.Duration(at)*time.Second), o.RaisedAt)
			require.Equal(t, began.Add(time.Duration([]int{5, 3}[i])*time.Second), o.ClearedAt)
		}
		c, err := db.Alarms().Condition(ctx, alarms.ByKey("rule:hot"))
		require.NoError(t, err)
		require.Equal(t, page.Occurrences[0].ID, c.Last.ID)
	})
}

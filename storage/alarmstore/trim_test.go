package alarmstore_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

func TestConditionsThatNothingNeedsAreTrimmed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db, ctx := open(t, storage.Options{}), t.Context()
		var later atomic.Int64 // the service asks for the time at any time
		now := func() time.Time { return storetest.When.Add(time.Duration(later.Load())) }
		service, err := alarms.New(ctx, db.Alarms(), alarms.Options{Now: now})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(ctx)) }()
		require.NoError(t, db.AlarmRules().AddRule(ctx, rules.Rule{ID: "hot", Tag: "t", Kind: rules.High, Severity: alarms.Warning}))
		const many = 5500 // more than one transaction removes
		for range 2 {
			var raise []alarms.Alarm
			var normal []alarms.Signal
			for i := range many {
				raise = append(raise, alarms.Alarm{Key: fmt.Sprint("webhook:", i), Source: "s"})
			}
			raise = append(raise, alarms.Alarm{Key: "rule:hot", Source: "s"}, alarms.Alarm{Key: "rule:gone", Source: "s"})
			_, err = service.RaiseMany(ctx, raise)
			require.NoError(t, err)
			for _, a := range raise {
				normal = append(normal, alarms.Signal{Key: a.Key})
			}
			_, err = service.Apply(ctx, normal)
			require.NoError(t, err)
			later.Add(int64(time.Hour))
		}
		hot, err := db.Alarms().Condition(ctx, alarms.ByKey("rule:hot"))
		require.NoError(t, err)

		left := func() int {
			page, err := db.Alarms().Occurrences(ctx, alarms.Query{Limit: 1, Count: true})
			require.NoError(t, err)
			return page.Total
		}
		require.NoError(t, db.Alarms().Trim(ctx, storetest.When.Add(time.Minute)))
		require.Equal(t, many+2, left(), "the newest of each")
		require.NoError(t, db.Alarms().Trim(ctx, now()))
		require.Equal(t, 1, left(), "that of a rule")
		kept, err := db.Alarms().Condition(ctx, alarms.ByKey("rule:hot"))
		require.NoError(t, err)
		require.Equal(t, hot, kept)
		_, err = db.Alarms().Condition(ctx, alarms.ByKey("rule:gone"))
		require.ErrorIs(t, err, alarms.ErrAlarmNotFound)

		require.NoError(t, db.AlarmRules().RemoveRule(ctx, "hot", nil))
		require.NoError(t, db.Alarms().Trim(ctx, now()))
		require.Zero(t, left())
		again, err := service.Raise(ctx, alarms.Alarm{Key: "rule:hot", Source: "s"})
		require.NoError(t, err)
		require.Greater(t, again.Code, hot.Code, "a code is never given twice")
	})
}

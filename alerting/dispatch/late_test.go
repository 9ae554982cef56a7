package dispatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/dispatch"
)

// TestDispatchOfALateAlarm reports an alarm that is over, again and again.
func TestDispatchOfALateAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail, chat := &fake{name: "email"}, &fake{name: "teamchat", silentOn: true}
		k := newDesk(t, dispatch.Options{}, mail, chat)
		began := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
		past := alarms.Signal{Ended: began.Add(time.Minute), Raise: &alarms.Alarm{
			Key: "Pump", ID: "019b0000-0000-7000-8000-000000000001", Source: "Pump", Message: "Pump", Severity: alarms.Critical, At: began,
		}}
		for range 3 {
			_, err := k.alarms.Apply(t.Context(), []alarms.Signal{past})
			require.NoError(t, err)
			k.Wake()
			pass(time.Minute)
		}
		require.Equal(t, []string{"Pump", "-Pump"}, mail.titles(), "told once, and that it is over")
		require.Equal(t, []string{"Pump"}, chat.titles())
		for i, n := range mail.messages() {
			require.Equal(t, "true", n.Labels[alarms.LabelLate])
			require.Equal(t, began.Add(time.Duration(i)*time.Minute), n.At, "with its own times")
		}
		k.silence(t, "Quiet", time.Hour)
		past.Raise.Key, past.Raise.ID, past.Raise.Source = "Quiet", "019b0000-0000-7000-8000-000000000002", "Quiet"
		_, err := k.alarms.Apply(t.Context(), []alarms.Signal{past})
		require.NoError(t, err)
		k.Wake()
		pass(25 * time.Hour)
		require.Len(t, mail.messages(), 2, "a silenced one is over, so that nobody needs it afterwards")
	})
}

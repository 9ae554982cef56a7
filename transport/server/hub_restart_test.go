package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/engine"
)

// TestTheAlarmHubAfterARestart has the stock client on a second engine over the stores of a first one, while a silence holds. What the
// first engine has sent is not sent again, and its end is sent, also where the severity has risen to one that is not.
func TestTheAlarmHubAfterARestart(t *testing.T) {
	t.Parallel()
	journal, quiet := alarms.NewMemory(), silences.NewMemory()
	run := func() (*platform, listener) {
		p := start(t, func(o *engine.Options) {
			o.Alarms.Alarms, o.Alerting.Silences = journal, quiet
			o.Alerting.Routes = alerting.Routes{alarms.Critical: {}}
		})
		l := p.listen("/hubs/alarms", "WebSockets", p.token(accounts.Viewer))
		l.await("started")
		return p, l
	}
	first, client := run()
	var messages []string
	for _, key := range []string{"open", "over", "rising"} {
		o := first.raise(key, alarms.Warning)
		require.Equal(t, o.Message, client.await("ReceiveAlarm", "OnAlarmChanged")[0])
		messages = append(messages, o.Message)
	}
	service, err := silences.New(quiet, silences.Options{})
	require.NoError(t, err)
	now := time.Now().UTC()
	s, err := service.Create(t.Context(), silences.Silence{SourceType: "*", Pattern: "*", Reason: "repair", StartsAt: now, EndsAt: now.Add(time.Hour)})
	require.NoError(t, err)
	first.halt()

	second, client := run()
	second.raise("rising", alarms.Critical)
	for i, key := range []string{"over", "rising"} {
		_, err := second.Alarms().Clear(t.Context(), alarms.ByKey(key), "", "")
		require.NoError(t, err)
		require.Equal(t, "Resolved: "+messages[i+1], client.await("ReceiveAlarm", "OnAlarmChanged")[0])
	}
	held := second.raise("quiet", alarms.Warning)
	require.NoError(t, service.Delete(t.Context(), s.ID))
	require.Equal(t, held.Message, client.await("ReceiveAlarm", "OnAlarmChanged")[0], "the open one was sent before")
}

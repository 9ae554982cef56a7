package main_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

func TestTwoEnginesOnOnePostgreSQL(t *testing.T) {
	t.Parallel()
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known)
	one := start(t, env, "-data", t.TempDir())
	other := start(t, env, "-data", t.TempDir())
	near := one.admin()
	far := other.with(near.token)
	require.Equal(t, http.StatusOK, far.status(), "the token of the other engine")
	stream, err := far.grpc.SubscribeAlarms(far.rpc(), &platformv1.SubscribeAlarmsRequest{})
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	pages := []*browser{browse(t, one, near.token), browse(t, other, near.token)}

	for _, source := range []string{"pump", "fan"} { // by each engine
		e := map[string]*engine{"pump": one, "fan": other}[source]
		e.told(alert("critical", source, source+" has stopped"))
		told, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, source, told.Alarm.Source)
		for _, p := range pages { // what came twice would be the next message
			require.Equal(t, []string{source + " has stopped", "Critical"}, p.await("message")[:2])
		}
	}
	require.Equal(t, http.StatusOK, far.acknowledge(near.activeAlarms()["pump"].ID, "seen"))
	require.Equal(t, http.StatusConflict, near.acknowledge(near.activeAlarms()["pump"].ID, "seen"))

	one.stop()
	require.Equal(t, http.StatusOK, far.status(), "tokens outlive the engine that signed them")
	require.Equal(t, http.StatusOK, other.admin().status())
}

// TestEnginesShareAlarmRules changes rules on an engine that does not have their tag.
func TestEnginesShareAlarmRules(t *testing.T) {
	t.Parallel()
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known)
	one := start(t, env, "-demo", "-data", t.TempDir())
	near := one.admin()
	near.good("sim.running")
	far := start(t, env, "-data", t.TempDir()).with(near.token)
	has := func(message string) bool {
		list, err := near.ListAlarmsWithResponse(t.Context(), &client.ListAlarmsParams{})
		require.NoError(t, err)
		return slices.ContainsFunc(list.JSON200.Alarms, func(a client.AlarmInfo) bool { return a.Message == message && a.IsActive })
	}
	stopped := func(id string) rules.Rule {
		return rules.Rule{ID: id, Tag: "sim.running", Kind: rules.Discrete, States: []string{"false"}, Severity: alarms.Critical, Enabled: true, Message: id}
	}
	near.addRule(stopped("removed"))
	removed, err := far.RemoveAlarmRuleWithResponse(t.Context(), "removed", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusNoContent, removed.StatusCode())
	running := stopped("mark") // when it is in force, so is what came before it
	running.States = []string{"true"}
	far.addRule(running)
	eventually(t, "a rule from another engine does not work", func() bool { return has("mark") })
	near.settled(near.write("sim", "running", "false", true))
	far.addRule(stopped("added"))
	eventually(t, "a second rule from another engine does not work", func() bool { return has("added") })
	require.False(t, has("removed"))
	_, err = far.RemoveAlarmRuleWithResponse(t.Context(), "added", nil)
	require.NoError(t, err)
	eventually(t, "a rule that was removed on another engine goes on", func() bool { return !has("added") })
}

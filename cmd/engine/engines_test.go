package main_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
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

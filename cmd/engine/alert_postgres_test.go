package main_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
)

func TestAlarmsOnPostgreSQLSurviveKill9(t *testing.T) {
	t.Parallel()
	receiver := newHook(t, true)
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known, receiver.settings(), tellBoth)
	data := t.TempDir()
	e := start(t, env, "-data", data)
	e.told(alerts("warning", "pump", 50)...)
	s := e.admin()
	// While it waits after failures nothing is claimed, which another owner would have to wait for.
	eventually(t, "the channel does not wait", func() bool {
		channels, err := s.ListChannelsWithResponse(t.Context())
		require.NoError(t, err)
		return slices.ContainsFunc(*channels.JSON200, func(c client.ChannelStatus) bool { return time.Until(c.PausedUntil) > 3*time.Second })
	})
	before := s.activeAlarms()
	require.Len(t, before, 50)
	e.kill()

	receiver.up()
	e = start(t, env, "-data", data)
	s = e.with(s.token)
	require.Equal(t, before, s.activeAlarms())
	require.EqualValues(t, 50, s.records("pump-").TotalCount)
	eventually(t, "what was pending is not sent", func() bool { return len(receiver.keys()) == 50 })
	for source, keys := range receiver.keys() {
		require.Len(t, keys, 1, source)
	}
}

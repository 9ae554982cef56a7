package main_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
)

func TestPostgreSQLAsStorage(t *testing.T) {
	t.Parallel()
	env := append([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known...)
	data := t.TempDir()
	e := start(t, env, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	write := s.write("sim", "speed", "1234", true)
	require.Equal(t, client.Confirmed, s.settled(write).State)
	run(t, env, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	require.Equal(t, http.StatusOK, e.login("vera", password).status())
	to := time.Now()
	from := to.AddDate(0, 0, -31)
	past := s.history("sim.temperature", from, to.Add(-10*time.Second), 100_000)
	require.Greater(t, len(past), 8000)
	eventually(t, "live values are not recorded", func() bool {
		return len(s.history("sim.counter", to.Add(-time.Second), time.Now(), 10)) > 0
	})
	archive := filepath.Join(t.TempDir(), "plant.backup")
	run(t, env, "", "backup", "-data", data, archive).ok(t)
	e.stop()
	files, err := filepath.Glob(filepath.Join(data, "*.db"))
	require.NoError(t, err)
	require.Empty(t, files)

	e = start(t, env, "-demo", "-data", data)
	require.Empty(t, e.firstPassword())
	s = e.with(s.token)
	require.Equal(t, client.Confirmed, s.outcome(write).State)
	require.Equal(t, past, s.history("sim.temperature", from, to.Add(-10*time.Second), 100_000))

	// The archive fits the embedded database too.
	moved := filepath.Join(t.TempDir(), "data")
	run(t, nil, "", "restore", "-data", moved, archive).ok(t)
	there := start(t, nil, "-demo", "-data", moved).with(s.token)
	require.Equal(t, client.Confirmed, there.outcome(write).State)
	require.Equal(t, past, there.history("sim.temperature", from, to.Add(-10*time.Second), 100_000))
}

func TestPostgreSQLThatCannotBeReached(t *testing.T) {
	t.Parallel()
	env := []string{"Storage__Driver=postgres", "Storage__Dsn=postgres://otkit:dsn-secret@127.0.0.1:1/plant?connect_timeout=2", "Storage__StartWait=0s"}
	r := run(t, env, "", "-data", t.TempDir(), "-listen", "127.0.0.1:0")
	r.refused(t, "PostgreSQL")
	require.NotContains(t, r.err, "dsn-secret")
}

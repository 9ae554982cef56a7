package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
)

func TestPgBouncerInTransactionMode(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	env := with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.Pooler(t, dsn), "Storage__Schema=plant", "Storage__MaxConnections=24"})
	data := t.TempDir()
	one := start(t, env, "-demo", "-data", data)
	two := start(t, env, "-data", t.TempDir())
	one.says("behind a pooler")
	s := one.admin()
	s.good("sim.counter")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			e := []*engine{one, two}[i%2]
			for n := range 10 {
				e.told(alert("warning", fmt.Sprintf("pump-%d-%d", i, n), "Too hot"))
				for _, path := range []string{"/api/v1.0/alert-history", "/health/ready", "/metrics"} {
					answer, err := http.Get(e.url + path)
					require.NoError(t, err)
					require.Equal(t, 200, answer.StatusCode, "%s %s", path, body(t, answer.Body))
				}
			}
		})
	}
	all.Wait()
	eventually(t, "alarms of the other engine are not listed", func() bool { return len(s.activeAlarms()) >= 100 })
	require.Equal(t, client.Confirmed, s.settled(s.write("sim", "speed", "1234", true)).State)
	eventually(t, "live values are not recorded", func() bool {
		return len(s.history("sim.counter", time.Now().Add(-time.Minute), time.Now(), 10)) > 0
	})
	require.Contains(t, s.standard(http.MethodGet, "/api/v1/aas/https%3A%2F%2Fdemo.otkit.example%2Faas%2FPumpP102", ""), "PumpP102")
	archive := filepath.Join(t.TempDir(), "plant.backup")
	run(t, env, "", "backup", "-data", data, archive).ok(t)
	run(t, env, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	one.stop()
	two.stop()
	for _, e := range []*engine{one, two} {
		for line := range strings.Lines(e.log.String()) { // what takes too long on a loaded machine is no fault of a pooler
			require.False(t, strings.Contains(line, "level=ERROR") && strings.Contains(line, "SQLSTATE"), line)
		}
		require.NotContains(t, e.log.String(), "prepared statement \\\"")
	}
	other := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.Pooler(t, pgtest.DSN(t))})
	run(t, other, "", "restore", "-data", t.TempDir(), archive).ok(t)

	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var tables, elsewhere int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT COUNT(*) FILTER (WHERE schemaname = 'plant'), COUNT(*) FILTER (WHERE schemaname = 'public') FROM pg_tables").Scan(&tables, &elsewhere))
	require.Greater(t, tables, 10)
	require.Zero(t, elsewhere)
}

// as gives a DSN with another user.
func as(t *testing.T, dsn, user string) string {
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("user", user)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestTheEngineNeedsNoRightToMakeTables(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	name := strings.ReplaceAll("runner_"+time.Now().Format("150405.000000"), ".", "_") // roles belong to all databases
	do := func(statement string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	do("CREATE ROLE " + name + " LOGIN")
	defer func() { do("DROP OWNED BY " + name); do("DROP ROLE " + name) }()
	settings := func(dsn string) []string {
		return with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn, "Storage__Schema=plant"})
	}
	do("CREATE SCHEMA plant")
	run(t, settings(as(t, dsn, name)), "", "-data", t.TempDir(), "-listen", "127.0.0.1:0").refused(t, "USAGE of the schema")
	do("GRANT USAGE ON SCHEMA plant TO " + name)
	run(t, settings(as(t, dsn, name)), "", "-data", t.TempDir(), "-listen", "127.0.0.1:0").refused(t, "engine migrate")
	require.Contains(t, run(t, settings(dsn), "", "migrate", "-data", t.TempDir()).ok(t).out, "the tables are of this version")
	do("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA plant TO " + name)

	data := t.TempDir()
	box, addr := openMailbox(t, "127.0.0.1:0")
	e := start(t, with(settings(as(t, dsn, name)), mailTo(addr), []string{"Alerting__Routes__Warning=email,dashboard"}), "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	e.told(alerts("warning", "pump", 5)...)
	require.NotNil(t, s.bulk(item("line.one")).JSON200)
	require.Equal(t, client.Confirmed, s.settled(s.write("sim", "speed", "1234", true)).State)
	eventually(t, "no mail comes", func() bool { return len(box.got()) >= 5 })
	eventually(t, "live values are not recorded", func() bool {
		return len(s.history("sim.counter", time.Now().Add(-time.Minute), time.Now(), 10)) > 0
	})
	e.stop()
	require.NotContains(t, e.log.String(), "permission denied")
	require.NotContains(t, e.log.String(), "level=ERROR")
}

func TestADatabaseOnAnotherHostWithoutSSLModeIsAWarning(t *testing.T) {
	t.Parallel()
	warned := func(dsn string) bool {
		r := run(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn}, "", "config", "check").ok(t)
		return strings.Contains(r.err, "sslmode")
	}
	require.True(t, warned("postgres://u:p@db.example.com/plant"))
	require.True(t, warned("host=10.0.0.7 user=u dbname=plant"))
	require.False(t, warned("postgres://u:p@db.example.com/plant?sslmode=verify-full"))
	require.False(t, warned("host=10.0.0.7 user=u dbname=plant sslmode=disable"))
	require.False(t, warned("postgres://u:p@127.0.0.1/plant"))
	require.False(t, warned("host=/run/postgresql dbname=plant"))
}

package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/openapi/client"
)

// away asserts what an engine answers whose database is away: 503 with Retry-After where it is needed, and
// live tags to a session that was seen before.
func (s *session) away(e *engine) {
	s.t.Helper()
	get := func(path string) *http.Response {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, e.url+path, nil)
		require.NoError(s.t, err)
		request.Header.Set("Authorization", "Bearer "+s.token)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(s.t, err)
		return answer
	}
	for _, path := range []string{"/api/v1.0/alert-history", "/api/v1/alerting/deadletters", "/api/v1/aas", "/api/v3.1/shells",
		"/api/v1.0/alarms/history", "/api/v1/tags/sim.speed/history"} {
		answer := get(path)
		text := body(s.t, answer.Body)
		require.Equal(s.t, http.StatusServiceUnavailable, answer.StatusCode, "%s %s", path, text)
		require.Equal(s.t, "5", answer.Header.Get("Retry-After"), path)
		if !strings.Contains(path, "v3.1") {
			require.Contains(s.t, text, "STORAGE_UNAVAILABLE", path)
		}
	}
	before := s.number("sim.counter")
	eventually(s.t, "live values stand still", func() bool { return s.number("sim.counter") != before })
	api, err := client.NewClientWithResponses(e.url)
	require.NoError(s.t, err)
	login, err := api.LoginWithResponse(s.t.Context(), client.LoginRequest{Username: "admin", Password: password})
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusServiceUnavailable, login.StatusCode(), "%s", login.Body)
	code, r := e.report("/health/ready")
	require.Equal(s.t, http.StatusServiceUnavailable, code)
	require.Equal(s.t, "Unhealthy", r.Results["storage"].Status)
}

func TestADatabaseThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	pg := pgtest.Own(t)
	e := start(t, with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + pg.DSN()}), "-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.counter")
	back := func() {
		t.Helper()
		eventually(t, "the engine does not come back", func() bool {
			code, _ := e.report("/health/ready")
			return code == http.StatusOK
		})
		require.NotNil(t, s.bulk(item("line.one")).JSON200)
		require.Equal(t, client.Confirmed, s.settled(s.write("sim", "speed", "1234", true)).State)
		s.records("x")
		e.admin()
	}
	noticed := func(times int) {
		t.Helper()
		eventually(t, "nobody notices", func() bool { return strings.Count(e.log.String(), "database not responding;") >= times })
	}

	pg.Freeze()
	noticed(1)
	s.away(e)
	pg.Thaw()
	back()

	pg.Kill()
	noticed(2)
	s.away(e)
	pg.Start()
	back()
	require.NotContains(t, e.log.String(), "status=500")
	require.Equal(t, 1, strings.Count(e.log.String()[:strings.Index(e.log.String(), "responding again")], "failed to check session"))
}

func TestTheStartWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	pg := pgtest.Own(t)
	pg.Kill()
	env := with(known, []string{"Storage__Driver=postgres", "Storage__Dsn=" + pg.DSN()})
	e := launch(t, binary(t), with(env, []string{"Storage__StartWait=5m"}), "-data", t.TempDir())
	eventually(t, "the engine does not wait", func() bool { return strings.Contains(e.log.String(), "failed to reach PostgreSQL; retrying") })
	r := run(t, with(env, []string{"Storage__StartWait=1s"}), "", "-data", t.TempDir(), "-listen", "127.0.0.1:0")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.err, "the database cannot be reached")
	pg.Start()
	e.ready()
	e.admin()
}

package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
)

// A second engine with a copied data directory, and so with the id of the first, does not start and says why. The first one goes on.
func TestASecondEngineOfTheSameIDIsRefused(t *testing.T) {
	t.Parallel()
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known)
	data, copied := t.TempDir(), t.TempDir()
	one := start(t, env, "-data", data)
	s := one.admin()
	id, err := os.ReadFile(filepath.Join(data, "engine.id"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(copied, "engine.id"), id, 0o600))
	second := func() result { return run(t, env, "", "-data", copied, "-listen", "127.0.0.1:0") }
	second().refused(t, "an engine of the same id is running", string(id))
	require.Equal(t, http.StatusOK, s.status())

	one.kill()
	// Once the first one has been silent for the time of a lease, it has gone.
	require.Equal(t, http.StatusOK, start(t, env, "-data", copied).with(s.token).status())
}

// An engine whose settings file has another driver than the database stops and names the driver and the member.
func TestSettingsThatContradictThePlantAreRefused(t *testing.T) {
	t.Parallel()
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known)
	port := realtest.FreePort(t)
	press := func(port int) []string {
		return with(env, []string{"Drivers__0__Id=press", "Drivers__0__Type=Modbus", "Drivers__0__IpAddress=127.0.0.1", "Drivers__0__Port=" + strconv.Itoa(port)})
	}
	one := start(t, press(port), "-data", t.TempDir())
	s := one.admin()
	start(t, press(port), "-data", t.TempDir()) // the same
	run(t, press(port+1), "", "-data", t.TempDir(), "-listen", "127.0.0.1:0").refused(t, "the settings and the database have different drivers", "press", "port")
	got, err := s.GetDriverWithResponse(t.Context(), "press")
	require.NoError(t, err)
	require.NotNil(t, got.JSON200, "%s %s", got.Status(), got.Body)
	require.Equal(t, port, got.JSON200.Port)
}

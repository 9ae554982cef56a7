package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestBackupWhileRunningAndRestore(t *testing.T) {
	t.Parallel()
	data, archive := t.TempDir(), filepath.Join(t.TempDir(), "plant.backup")
	e := start(t, known, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	require.NotNil(t, s.bulk(item("line.one"), item("line.two")).JSON200)
	write := s.write("sim", "speed", "1234", true)
	outcome := s.settled(write)
	require.Equal(t, client.Confirmed, outcome.State)
	to := time.Now().Add(-time.Second)
	from := to.AddDate(0, 0, -31)
	past := s.history("sim.temperature", from, to, 100_000)
	require.Greater(t, len(past), 8000)

	run(t, nil, "", "backup", "-data", data, archive).ok(t)
	info, err := os.Stat(archive)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "it has secrets in it")
	require.Equal(t, http.StatusOK, s.status(), "the engine goes on")
	after := s.history("sim.temperature", from, to, 100_000)

	// What comes after the backup is not in it.
	run(t, nil, "", "users", "remove", "-data", data, "vera").ok(t)
	require.NotNil(t, s.bulk(item("line.three")).JSON200)

	run(t, nil, "", "restore", "-data", data, archive).refused(t, "in use")
	e.stop()
	run(t, nil, "", "restore", "-data", data, archive).refused(t, "not empty")

	elsewhere := filepath.Join(t.TempDir(), "data")
	run(t, nil, "", "restore", "-data", elsewhere, archive).ok(t)
	e = start(t, nil, "-demo", "-data", elsewhere)
	require.Empty(t, e.firstPassword())
	old := e.with(s.token)
	require.Equal(t, http.StatusOK, old.status(), "tokens from before hold: the signing keys and sessions are back")
	refresh, err := old.RefreshWithResponse(t.Context(), client.RefreshRequest{RefreshToken: s.refresh})
	require.NoError(t, err)
	require.NotNil(t, refresh.JSON200, "%s", refresh.Body)
	require.Equal(t, http.StatusOK, e.login("vera", password).status())
	s = e.admin()
	have := s.configured()
	require.Contains(t, have, "line.one")
	require.Contains(t, have, "line.two")
	require.NotContains(t, have, "line.three")
	require.Equal(t, outcome, s.outcome(write))
	// A sample that waited to be stored while the backup was made may be in it or not; none before it is missing.
	restored := s.history("sim.temperature", from, to, 100_000)
	require.GreaterOrEqual(t, len(restored), len(past))
	require.Equal(t, past, restored[:len(past)])
	require.GreaterOrEqual(t, len(after), len(restored))
	require.Equal(t, restored, after[:len(restored)])
}

func TestRestoreRefusesADamagedArchive(t *testing.T) {
	t.Parallel()
	data, archive := t.TempDir(), filepath.Join(t.TempDir(), "plant.backup")
	e := start(t, known, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.counter")
	require.NotNil(t, s.bulk(item("line.one")).JSON200)
	e.stop()
	run(t, nil, "", "backup", "-data", data, archive).ok(t)
	whole, err := os.ReadFile(archive)
	require.NoError(t, err)
	target := filepath.Join(t.TempDir(), "data")
	for name, damage := range map[string]func() []byte{
		"cut":     func() []byte { return whole[:len(whole)*2/3] },
		"changed": func() []byte { b := append([]byte(nil), whole...); b[len(b)/2] ^= 0x10; return b },
		"empty":   func() []byte { return nil },
		"foreign": func() []byte { return []byte("this is no backup") },
	} {
		t.Run(name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(damaged, damage(), 0o600))
			run(t, nil, "", "restore", "-data", target, damaged).refused(t, "not a usable backup")
			for _, file := range []string{modelFile, keysFile} {
				_, err := os.Stat(filepath.Join(target, file))
				require.ErrorIs(t, err, os.ErrNotExist)
			}
		})
	}
	run(t, nil, "", "restore", "-data", target, archive).ok(t)
	require.Contains(t, start(t, nil, "-demo", "-data", target).with(s.token).configured(), "line.one")
}

const (
	modelFile = "config/equipment_model.json"
	keysFile  = "signing-keys.json"
)

func TestBackupRefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "typo")
	out := filepath.Join(t.TempDir(), "plant.backup")
	run(t, nil, "", "backup", "-data", nowhere, out).refused(t, "no database", nowhere)
	run(t, nil, "", "users", "list", "-data", nowhere).refused(t, "no database", nowhere)
	for _, path := range []string{nowhere, out} {
		_, err := os.Stat(path)
		require.ErrorIs(t, err, os.ErrNotExist, "nothing is made for a mistyped name")
	}
	run(t, nil, "", "backup", "-data", nowhere).refused(t, "name of the file")
	run(t, nil, "", "restore", "-data", nowhere, filepath.Join(t.TempDir(), "missing")).refused(t, "missing")

	data := t.TempDir()
	run(t, nil, password, "users", "add", "-data", data, "-role", "Admin", "boss").ok(t)
	run(t, nil, "", "backup", "-data", data, filepath.Join(t.TempDir(), "no", "folder")).refused(t, "no such file")
	require.Equal(t, 0, run(t, nil, "", "backup", "-data", data, out).code, "an engine that never served has no keys and no model file")
}

//go:build unix

package main_test

import (
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

// madeBackup gives a backup of a plant and an account's name that is in it.
func madeBackup(t *testing.T) (archive, account string) {
	t.Helper()
	data := t.TempDir()
	archive = filepath.Join(t.TempDir(), "plant.backup")
	e := start(t, known, "-data", data)
	require.NotNil(t, e.admin().bulk(item("line.one")).JSON200)
	run(t, nil, password, "users", "add", "-data", data, "-role", "Viewer", "vera").ok(t)
	run(t, nil, "", "backup", "-data", data, archive).ok(t)
	return archive, "vera"
}

// unwritable gives settings with a place for the model file that cannot be written.
func unwritable(t *testing.T) []string {
	return []string{"Tags__ModelPath=" + filepath.Join(file(t, "a-file", ""), "model.json")}
}

func TestARestoreThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	archive, account := madeBackup(t)
	whole, err := os.ReadFile(archive)
	require.NoError(t, err)
	data := filepath.Join(t.TempDir(), "data")

	run(t, unwritable(t), "", "restore", "-data", data, archive).refused(t)
	require.NoDirExists(t, data, "not even the folder that was made")
	run(t, nil, "", "restore", "-data", data, file(t, "cut", string(whole[:len(whole)/2]))).refused(t, "not a usable backup")
	require.NoDirExists(t, data)

	require.NoError(t, os.MkdirAll(filepath.Join(data, "config"), 0o700))
	model := filepath.Join(data, modelFile)
	require.NoError(t, os.WriteFile(model, []byte("mine"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(data, keysFile), 0o700)) // no file can be put there
	run(t, nil, "", "restore", "-data", data, archive).refused(t)
	text, err := os.ReadFile(model)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
	require.NoFileExists(t, filepath.Join(data, "otkit.db"))
	require.NoError(t, os.Remove(filepath.Join(data, keysFile)))

	run(t, nil, "", "restore", "-data", data, archive).ok(t)
	require.Contains(t, run(t, nil, "", "users", "list", "-data", data).ok(t).out, account)
	require.Contains(t, start(t, nil, "-data", data).admin().configured(), "line.one")
}

// What a restore has left that was killed does not pass for a new plant, and is no obstacle to another restore.
func TestARestoreThatWasKilledIsRepeated(t *testing.T) {
	t.Parallel()
	archive, account := madeBackup(t)
	whole, err := os.ReadFile(archive)
	require.NoError(t, err)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		data := t.TempDir()
		pipe := filepath.Join(t.TempDir(), "pipe") // which never ends
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		cmd := exec.Command(binary(t), "restore", "-data", data, pipe)
		cmd.Env = environment(nil)
		require.NoError(t, cmd.Start())
		half, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
		require.NoError(t, err)
		_, err = half.Write(whole[:len(whole)/2])
		require.NoError(t, err)
		staging := filepath.Join(data, "restore.partial")
		eventually(t, "the restore does not begin", func() bool { _, err := os.Stat(staging); return err == nil })
		require.NoError(t, cmd.Process.Signal(signal))
		timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		require.Error(t, cmd.Wait())
		timer.Stop()
		require.NoError(t, half.Close())
		require.NoFileExists(t, filepath.Join(data, "otkit.db"))
		if signal == syscall.SIGKILL {
			run(t, nil, "", "-data", data, "-listen", "127.0.0.1:0").refused(t, "restore", "was interrupted")
		} else {
			require.NoDirExists(t, staging, "it was told to stop and has cleaned up")
		}
		run(t, nil, "", "restore", "-data", data, archive).ok(t)
		require.Contains(t, run(t, nil, "", "users", "list", "-data", data).ok(t).out, account)
		require.NoDirExists(t, staging)
	}
}

func TestARestoreIntoPostgresThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	archive, account := madeBackup(t)
	data := filepath.Join(t.TempDir(), "data")
	pg := []string{"Storage__Driver=postgres", "Storage__Dsn=" + dsn}
	run(t, with(pg, unwritable(t)), "", "restore", "-data", data, archive).refused(t)
	require.NoDirExists(t, data)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var tables int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables))
	require.Zero(t, tables)
	run(t, pg, "", "restore", "-data", data, archive).ok(t)
	require.Contains(t, run(t, pg, "", "users", "list", "-data", data).ok(t).out, account)
	run(t, pg, "", "restore", "-data", data, archive).refused(t, "not empty")
}

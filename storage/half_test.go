package storage_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/sqlite"
)

// modelBackup gives a backup with a further file.
func modelBackup(t *testing.T, db *storetest.DB) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m")
	require.NoError(t, os.WriteFile(file, []byte("model"), 0o600))
	return backupOf(t, db, storage.BackupOptions{Files: map[string]string{"model.json": file}})
}

// What a restore leaves when the program ends in the middle of it is no obstacle to another one.
func TestARestoreThatWasCutOffCanBeRepeated(t *testing.T) {
	from := storetest.OpenSQLite(t, t.TempDir(), storage.Options{})
	fill(t, from)
	archive := modelBackup(t, from)

	dir, crashed := t.TempDir(), t.TempDir()
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	err := storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{File: func(string, io.Reader) error {
		return os.CopyFS(filepath.Join(crashed, "data"), os.DirFS(dir)) // the disk at this moment
	}})
	require.NoError(t, err)
	require.Equal(t, dump(t, from), dump(t, db))

	again := storetest.OpenSQLite(t, filepath.Join(crashed, "data"), storage.Options{})
	require.NotZero(t, storetest.Count(t, again.History(), "line.tag0"), "the history was there already")
	require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), again.DB, storage.RestoreOptions{}))
	require.Equal(t, dump(t, from), dump(t, again))
	err = storage.Restore(t.Context(), bytes.NewReader(archive), again.DB, storage.RestoreOptions{})
	require.ErrorIs(t, err, storage.ErrNotEmpty)
}

func TestARestoreWhoseFileFailsLeavesNothing(t *testing.T) {
	from := storetest.OpenSQLite(t, t.TempDir(), storage.Options{})
	fill(t, from)
	archive := modelBackup(t, from)
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		full := errors.New("no room")
		err := storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{File: func(string, io.Reader) error { return full }})
		require.ErrorIs(t, err, full)
		require.Zero(t, storetest.Count(t, db.History(), "line.tag0"))
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{}))
		require.Equal(t, dump(t, from), dump(t, db))
	})
}

func TestOpeningWithoutMigrating(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		open(t, storage.Options{})
		require.NoError(t, open(t, storage.Options{NoMigrate: true}).Ping(t.Context()))
	})
	dir := t.TempDir()
	try := func() error {
		db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Options: storage.Options{NoMigrate: true}}, storetest.Schemas()...)
		if err == nil {
			return db.Close(t.Context())
		}
		return err
	}
	require.ErrorIs(t, try(), storage.ErrNoTables)
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	require.NoError(t, try())
	for _, c := range []struct {
		version string
		want    error
	}{{"version + 1", storage.ErrNewer}, {"1", storage.ErrOlder}} {
		_, err := db.StatePool().ExecContext(t.Context(), "UPDATE schema_version SET version = "+c.version)
		require.NoError(t, err)
		require.ErrorIs(t, try(), c.want)
	}
}

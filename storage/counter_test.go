package storage_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagstore"
)

// The data in testdata/single-counter were made by a program that had one version for each set of tables: a data
// directory, its backup, and a PostgreSQL database with its backup.
const singleCounter = "testdata/single-counter"

// quiet leaves the rows as they are.
var quiet = storage.Options{NoMaintenance: true}

func unpack(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(singleCounter, name))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return data
}

// oldFolder returns the data directory.
func oldFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{sqlite.StateFile, sqlite.HistoryFile} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), unpack(t, name+".gz"), 0o600))
	}
	return dir
}

// oldPostgres returns the PostgreSQL database.
func oldPostgres(t *testing.T) string {
	t.Helper()
	dsn := pgtest.DSN(t)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), string(unpack(t, "postgres.sql.gz")))
	require.NoError(t, err)
	return dsn
}

// rows returns what an archive has of each table.
func rows(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	all := make(map[string]string)
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".jsonl") {
			continue
		}
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		all[f.Name] = string(text)
	}
	return all
}

// sameRows checks that a database has exactly the rows of an archive.
func sameRows(t *testing.T, archive string, db *storetest.DB) {
	t.Helper()
	old, err := os.ReadFile(filepath.Join(singleCounter, archive))
	require.NoError(t, err)
	want, got := rows(t, old), rows(t, backupOf(t, db, storage.BackupOptions{}))
	require.Len(t, want, 30)
	for name, added := range since {
		want[name] = withColumns(want[name], added.columns, added.values)
	}
	for name, text := range want {
		require.Equal(t, text, got[name], name)
	}
}

// since are the columns that tables have had since, and their values in rows of before, as a backup has them.
var since = map[string]struct{ columns, values string }{
	"state/accounts.jsonl":          {`,{"name":"disabled","type":"int"},{"name":"last_sign_in_us","type":"int"}]`, `,0,null]`},
	"state/sessions.jsonl":          {`,{"name":"address","type":"text"},{"name":"created_us","type":"int"},{"name":"refreshed_us","type":"int"}]`, `,"",null,null]`},
	"state/tag_writes.jsonl":        {`,{"name":"driver","type":"text"},{"name":"address","type":"text"}]`, `,"",""]`},
	"state/aas_documents.jsonl":     {`,{"name":"size","type":"int"}]`, `,0]`},
	"state/alarm_occurrences.jsonl": {`,{"name":"cause","type":"text"}]`, `,""]`},
	"state/alarm_resolutions.jsonl": {`,{"name":"recorded_by","type":"text"}]`, `,""]`},
	"state/alert_silences.jsonl":    {`,{"name":"recorded_by","type":"text"}]`, `,""]`},
}

// withColumns adds columns to the rows of a table.
func withColumns(text, columns, values string) string {
	header, rows, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(header, "]") + columns + "\n" + strings.ReplaceAll(rows, "]\n", values+"\n")
}

// checkSplit checks that each schema has a version of its own, and that programs of before refuse the database.
func checkSplit(t *testing.T, db *storetest.DB) {
	t.Helper()
	want := map[string]int{"state": 15, "state/accounts": 2, "state/tags": 1, "state/alarms": 4, "state/alerts": 7, "state/aas": 1}
	for name, version := range want {
		var got int
		require.NoError(t, db.View(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			return tx.Row(ctx, "SELECT version FROM schema_version WHERE name = ?", []any{name}, &got)
		}))
		require.GreaterOrEqual(t, got, version, name)
	}
}

func TestADataDirectoryOfTheSingleCounterOpens(t *testing.T) {
	dir := oldFolder(t)
	for range 2 {
		db := storetest.OpenSQLite(t, dir, quiet)
		checkSplit(t, db)
		sameRows(t, "backup.zip", db)
		require.NoError(t, db.Close())
	}
	db := storetest.OpenSQLite(t, dir, storage.Options{})
	require.Equal(t, 275, storetest.Count(t, db.History(), "line.tag19"))
	dead, total, err := db.Outbox().DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 2, total)
	require.Equal(t, "email", dead[0].Channel)
	require.NoError(t, storetest.RaiseAlarms(t.Context(), db.Alarms(), 1000, 1))
}

func TestAPostgresOfTheSingleCounterOpens(t *testing.T) {
	dsn := oldPostgres(t)
	var wg sync.WaitGroup
	for range 4 { // of several engines that start together, one does the work
		wg.Go(func() {
			db, err := storetest.TryPostgres(dsn)(t.Context(), quiet)
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			if err := db.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
	db := storetest.OpenPostgres(t, dsn, quiet)
	checkSplit(t, db)
	sameRows(t, "postgres.zip", db)
	goOnAfter(t, db)
}

func TestABackupOfTheSingleCounterIsRestored(t *testing.T) {
	archive, err := os.ReadFile(filepath.Join(singleCounter, "backup.zip"))
	require.NoError(t, err)
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, quiet)
		require.NoError(t, storage.Restore(t.Context(), bytes.NewReader(archive), db.DB, storage.RestoreOptions{}))
		sameRows(t, "backup.zip", db)
		goOnAfter(t, db)
	})
}

// goOnAfter checks that numbers that the database counts up continue.
func goOnAfter(t *testing.T, db *storetest.DB) {
	t.Helper()
	require.NoError(t, storetest.RaiseAlarms(t.Context(), db.Alarms(), 1000, 1))
	require.NoError(t, db.History().Append(t.Context(), storetest.NewPlant(25).Batch(25)))
	require.Len(t, storetest.Samples(t, db.History(), "line.tag24"), 1)
}

// A program that ends in the middle of the turn leaves the database as it was.
func TestATurnThatFailsLeavesTheSingleCounter(t *testing.T) {
	broken := storage.Schema{Name: "broken", Set: storage.State, Migrations: fstest.MapFS{
		"migrations/0001_broken.sql": &fstest.MapFile{Data: []byte("CREATE TABLE half (id BIGINT);\nCREATE NONSENSE;\n")}}}
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			db := storetest.Before(t, fresh, 14, 2)
			require.NoError(t, db.Close())
			_, err := fresh(append(storetest.Schemas(), broken)...)(t.Context(), quiet)
			require.ErrorContains(t, err, "0001_broken.sql")
			_, err = fresh()(t.Context(), storage.Options{NoMigrate: true})
			require.ErrorIs(t, err, storage.ErrOlder)
			require.ErrorContains(t, err, "version 14")
			db = storetest.Must(fresh())(t, quiet)
			checkSplit(t, db)
			usable(t, db)
		})
	}
}

func TestEveryVersionOfTheSingleCounterIsBroughtUp(t *testing.T) {
	for version := 1; version <= 14; version++ {
		fresh := storetest.Fresh(t, "sqlite")
		require.NoError(t, storetest.Before(t, fresh, version, 1+version%2).Close())
		db := storetest.Must(fresh())(t, quiet)
		checkSplit(t, db)
		usable(t, db)
		require.NoError(t, db.Close())
	}
}

// An embedder who needs few schemas gets their tables only, and the others are untouched.
func TestSomeSchemas(t *testing.T) {
	some := []storage.Schema{tagstore.Schema(), historystore.Schema()}
	tables := func(dir, file string) (names []string) {
		db, err := sql.Open("sqlite", filepath.Join(dir, file))
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		list, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
		require.NoError(t, err)
		defer func() { require.NoError(t, list.Close()) }()
		for list.Next() {
			var name string
			require.NoError(t, list.Scan(&name))
			names = append(names, name)
		}
		require.NoError(t, list.Err())
		return names
	}
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, some...)
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	require.Equal(t, []string{"schema_version", "tag_writes"}, tables(dir, sqlite.StateFile))

	dir = t.TempDir()
	db, err = sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, historystore.Schema())
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	var archive bytes.Buffer
	require.NoError(t, db.Backup(t.Context(), &archive, storage.BackupOptions{}))
	_, err = tagstore.New(db)
	require.ErrorIs(t, err, storage.ErrOption)
	_, err = tagstore.New(nil)
	require.ErrorIs(t, err, storage.ErrOption)
	require.NoError(t, db.Close(t.Context()))
	require.NoFileExists(t, filepath.Join(dir, sqlite.StateFile))

	dir = oldFolder(t)
	db, err = sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, some...)
	require.NoError(t, err)
	require.ErrorIs(t, db.Backup(t.Context(), io.Discard, storage.BackupOptions{}), storage.ErrUnowned)
	require.NoError(t, db.Close(t.Context()))
	sameRows(t, "backup.zip", storetest.OpenSQLite(t, dir, quiet))
}

func TestABackupFailsOnATableThatNobodyOwns(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, quiet)
		db.Exec(t, "CREATE TABLE strange (id BIGINT)")
		err := db.Backup(t.Context(), io.Discard, storage.BackupOptions{})
		require.ErrorIs(t, err, storage.ErrUnowned)
		require.ErrorContains(t, err, "strange")
		require.NoError(t, db.Backup(t.Context(), io.Discard, storage.BackupOptions{Ignore: []string{"strange"}}))
	})
}

func TestANewerSchemaIsRefused(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			try := storetest.Fresh(t, kind)()
			db := storetest.Must(try)(t, quiet)
			db.Exec(t, "UPDATE schema_version SET version = 99 WHERE name = 'state/alarms'")
			require.NoError(t, db.Close())
			for _, opts := range []storage.Options{quiet, {NoMigrate: true}} {
				_, err := try(t.Context(), opts)
				require.ErrorIs(t, err, storage.ErrNewer)
				require.ErrorContains(t, err, "state/alarms have version 99")
			}
		})
	}
}

package storetest

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
)

// Earlier returns a schema as it was after so many of its migrations.
func Earlier(t testing.TB, s storage.Schema, version int) storage.Schema {
	t.Helper()
	entries, err := fs.ReadDir(s.Migrations, "migrations")
	require.NoError(t, err)
	files := fstest.MapFS{"migrations": &fstest.MapFile{Mode: fs.ModeDir}}
	made := ""
	for _, e := range entries[:version] {
		text, err := fs.ReadFile(s.Migrations, "migrations/"+e.Name())
		require.NoError(t, err)
		files["migrations/"+e.Name()] = &fstest.MapFile{Data: text}
		made += string(text)
	}
	tables := s.Tables
	s.Migrations, s.Tables, s.Upgrade = files, nil, nil
	for _, table := range tables {
		if strings.Contains(made, "CREATE TABLE "+table.Name+" ") {
			s.Tables = append(s.Tables, table)
		}
	}
	return s
}

// stateSteps has the schema of each version that the single counter of the state had; the last one was of two.
var stateSteps = []string{"accounts", "tags", "alarms", "alerts", "alerts", "accounts", "alerts", "aas", "alerts", "alarms", "alerts", "alarms", "alerts", "alarms alerts"}

// Before opens a new database as programs left it that had one version for each set of tables.
func Before(t testing.TB, fresh func(...storage.Schema) Tryer, state, history int) *DB {
	t.Helper()
	counts := map[string]int{"history": history}
	for _, names := range stateSteps[:state] {
		for _, name := range strings.Fields(names) {
			counts[name]++
		}
	}
	schemas := Schemas()
	for i, s := range schemas {
		schemas[i] = Earlier(t, s, counts[s.Name])
	}
	db := Must(fresh(schemas...))(t, storage.Options{NoMaintenance: true})
	for _, row := range []struct {
		set     storage.SetName
		version int
	}{{storage.State, state}, {storage.History, history}} {
		of := Schemas()[0]
		if row.set == storage.History {
			of = historystore.Schema()
		}
		require.NoError(t, db.update(t.Context(), of, "test", func(ctx context.Context, tx *storage.Tx) error {
			if _, err := tx.Exec(ctx, "DELETE FROM schema_version WHERE name LIKE ?", string(row.set)+"/%"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE schema_version SET version = ? WHERE name = ?", row.version, string(row.set))
			return err
		}))
	}
	return db
}

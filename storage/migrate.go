package storage

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations
var migrationFiles embed.FS

// migration is one numbered step of a set's tables.
type migration struct {
	version int
	name    string
	text    string
}

// migrations reads a set's steps: files named 0001_what.sql, counted without a gap. The SQL is the
// same for every database but for the placeholders of Dialect.Types; statements end with a semicolon
// at the end of a line.
func migrations(files fs.FS, set string) ([]migration, error) {
	entries, err := fs.ReadDir(files, "migrations/"+set)
	if err != nil {
		return nil, err
	}
	var all []migration
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != len(all)+1 {
			return nil, fmt.Errorf("migration %s/%s should have number %d", set, e.Name(), len(all)+1)
		}
		text, err := fs.ReadFile(files, "migrations/"+set+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, migration{version: version, name: e.Name(), text: string(text)})
	}
	return all, nil
}

// statements gives a step's statements for a database.
func (m migration) statements(d Dialect) []string {
	pairs := make([]string, 0, 2*len(d.Types()))
	for name, column := range d.Types() {
		pairs = append(pairs, "{{"+name+"}}", column)
	}
	var all []string
	for part := range strings.SplitSeq(strings.NewReplacer(pairs...).Replace(m.text)+"\n", ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// migrate brings a set's tables to its newest version, in one transaction and under a lock, so that
// of several programs that start at once one does the work.
func (s *set) migrate(ctx context.Context, steps []migration) error {
	return s.exclusive(ctx, "migrate", func(update updater) error {
		return update(ctx, "migrate", func(ctx context.Context, tx *Tx) error { return tx.migrate(ctx, steps) })
	})
}

// mustHave checks that a set's tables have a version.
func (s *set) mustHave(ctx context.Context, want int) error {
	version := 0
	read := func(query string, args ...any) error {
		return s.view(ctx, "version", func(ctx context.Context, tx *Tx) error {
			return tx.Each(ctx, query, args, func(row Scanner) error { return row.Scan(&version) })
		})
	}
	if err := read("SELECT version FROM schema_version WHERE name = ?", s.name); err != nil {
		if read("SELECT 0") == nil { // it answers, so it is the table that is missing
			return ErrNoTables.Wrap(err)
		}
		return err
	}
	switch {
	case version == 0:
		return ErrNoTables
	case version > want:
		return ErrNewer.Because("its %s tables have version %d, this program knows up to %d", s.name, version, want)
	case version < want:
		return ErrOlder.Because("its %s tables have version %d, this program needs %d; starting the engine brings them up", s.name, version, want)
	}
	return nil
}

func (t *Tx) migrate(ctx context.Context, steps []migration) error {
	version, err := t.version(ctx)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return ErrNewer.Because("its %s tables have version %d, this program knows up to %d", t.set.name, version, len(steps))
	}
	for _, m := range steps[version:] {
		for _, statement := range m.statements(t.set.dialect) {
			if _, err := t.tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("migration %s/%s: %w", t.set.name, m.name, explain(t.set.dialect, err))
			}
		}
	}
	if version == len(steps) {
		return nil
	}
	_, err = t.Exec(ctx, `INSERT INTO schema_version (name, version) VALUES (?, ?)
		ON CONFLICT (name) DO UPDATE SET version = excluded.version`, t.set.name, len(steps))
	return err
}

// version gives the version of the set's tables, 0 when there are none.
func (t *Tx) version(ctx context.Context) (int, error) {
	const table = `CREATE TABLE IF NOT EXISTS schema_version (name TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)`
	if _, err := t.tx.ExecContext(ctx, table); err != nil {
		return 0, explain(t.set.dialect, err)
	}
	version := 0
	err := t.Each(ctx, "SELECT version FROM schema_version WHERE name = ?", []any{t.set.name}, func(row Scanner) error {
		return row.Scan(&version)
	})
	return version, err
}

package storage

import (
	"context"
	"errors"
	"fmt"
)

// migrate brings a set's tables to the newest version, in one transaction and under a lock, so that of several
// processes that start concurrently one does the work.
func (s *Set) migrate(ctx context.Context) error {
	if s.mustHave(ctx) == nil {
		return nil // a role that may not change tables can run the engine
	}
	err := s.Exclusive(ctx, "migrate", func(update Updater) error {
		return update(ctx, "migrate", func(ctx context.Context, tx *Tx) error { return tx.migrate(ctx) })
	})
	if errors.Is(err, ErrDenied) {
		return ErrDenied.Because("the %s tables are missing, of an older version, or not readable for this role: run \"engine migrate\" with a role that may create tables, and grant this one USAGE of the schema and SELECT, INSERT, UPDATE and DELETE on its tables", s.name).Wrap(err)
	}
	return err
}

// mustHave checks that a set's tables have exactly the newest version.
func (s *Set) mustHave(ctx context.Context) error {
	var versions map[string]int
	err := s.View(ctx, "version", func(ctx context.Context, tx *Tx) (err error) {
		versions, err = tx.versions(ctx)
		return err
	})
	if err != nil {
		answers := s.View(ctx, "version", func(ctx context.Context, tx *Tx) error {
			return tx.Each(ctx, "SELECT 0", nil, func(Scanner) error { return nil })
		})
		if answers == nil { // so it is the table that is missing
			return ErrNoTables.Wrap(err)
		}
		return err
	}
	counter := versions[string(s.name)]
	if err := s.checkCounter(counter); err != nil {
		return err
	}
	switch {
	case counter == 0:
		return ErrNoTables
	case counter < perSchema(s.name):
		return ErrOlder.Because("its %s tables have version %d, this program needs %d; starting the engine brings them up", s.name, counter, perSchema(s.name))
	}
	for _, schema := range s.schemas {
		version, want := versions[schema.key()], len(schema.steps)
		switch {
		case version > want:
			return newer(schema, version)
		case version < want:
			return ErrOlder.Because("its tables of %s have version %d, this program needs %d; starting the engine brings them up", schema.key(), version, want)
		}
	}
	return nil
}

// checkCounter returns ErrNewer when the row of the set is of a program that came after this one.
func (s *Set) checkCounter(counter int) error {
	if counter > perSchema(s.name) {
		return ErrNewer.Because("its %s tables have version %d, this program knows up to %d", s.name, counter, perSchema(s.name))
	}
	return nil
}

func newer(s *schema, version int) error {
	return ErrNewer.Because("its tables of %s have version %d, this program knows up to %d", s.key(), version, len(s.steps))
}

// migrate turns a single counter into one a schema, and brings the tables of each schema to the newest version.
func (t *Tx) migrate(ctx context.Context) error {
	const table = `CREATE TABLE IF NOT EXISTS schema_version (name TEXT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)`
	if _, err := t.tx.ExecContext(ctx, table); err != nil {
		return explain(t.set.dialect, err)
	}
	versions, err := t.versions(ctx)
	if err != nil {
		return err
	}
	name := t.set.name
	counter := versions[string(name)]
	if err := t.set.checkCounter(counter); err != nil {
		return err
	}
	if counter < perSchema(name) {
		for key, version := range splitCounter(name, counter) {
			if err := t.setVersion(ctx, key, version); err != nil {
				return err
			}
			versions[key] = version
		}
		if err := t.setVersion(ctx, string(name), perSchema(name)); err != nil {
			return err
		}
	}
	for _, s := range t.set.schemas {
		if err := t.migrateSchema(ctx, s, versions[s.key()], len(s.steps)); err != nil {
			return err
		}
	}
	return nil
}

// migrateSchema runs the steps of a schema between two versions.
func (t *Tx) migrateSchema(ctx context.Context, s *schema, from, to int) error {
	if from > to {
		return newer(s, from)
	}
	if from == to {
		return nil
	}
	for _, m := range s.steps[from:to] {
		for _, statement := range m.statements(t.set.dialect) {
			if _, err := t.tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("migration %s/%s: %w", s.key(), m.name, explain(t.set.dialect, err))
			}
		}
	}
	return t.setVersion(ctx, s.key(), to)
}

// remake drops a schema's tables and makes them as a version had them.
func (t *Tx) remake(ctx context.Context, s *schema, version int) error {
	for i := range s.Tables {
		table := s.Tables[len(s.Tables)-1-i] // a table before those that it refers to
		if _, err := t.tx.ExecContext(ctx, "DROP TABLE IF EXISTS "+table.Name); err != nil {
			return explain(t.set.dialect, err)
		}
	}
	return t.migrateSchema(ctx, s, 0, version)
}

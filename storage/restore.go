package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// RestoreOptions are the settings of a restore. The zero RestoreOptions works.
type RestoreOptions struct {
	// File is called with each further file of the archive, before the state is restored: again when a restore is
	// repeated. The name has slashes and stays below the folder that it is joined to. If File is nil, the files are
	// omitted.
	File func(name string, r io.Reader) error

	TempDir string // where the archive is kept meanwhile; empty for the system's
}

// Restore fills an empty database from a backup of any kind of database. It reads the whole archive and checks it
// before it changes anything. An archive of an earlier version is brought to the newest one; if the archive is of a
// later version or has a schema that db was opened without, Restore returns ErrNewer. The database must not be in use:
// make the stores after Restore. A restore that failed, also because the program ended, can be repeated.
//
// PostgreSQL is restored in one transaction: a restore that fails leaves nothing. With SQLite, which has two files, a
// program that ends meanwhile leaves parts: restore into a folder of its own, and rename the files when Restore has
// returned and the database is closed.
//
// The errors are ErrBadArchive, ErrNewer, ErrNotEmpty and those of the database.
func Restore(ctx context.Context, r io.Reader, db *DB, opts RestoreOptions) error {
	a, err := openArchive(r, opts.TempDir)
	if err != nil {
		return err
	}
	defer a.close()
	if err := a.check(ctx, db); err != nil {
		return err
	}
	if last := len(db.sets) - 1; db.sets[0].pools.Write == db.sets[last].pools.Write {
		return a.restoreWhole(ctx, db, opts)
	}
	return a.restoreParts(ctx, db.set(State), db.set(History), opts)
}

// restoreParts restores state and history that are in two files.
func (a *stored) restoreParts(ctx context.Context, state, history *Set, opts RestoreOptions) error {
	for _, s := range []*Set{state, history} {
		if err := s.migrate(ctx); err != nil {
			return err
		}
	}
	if err := state.stage(ctx, "restore.check", mustBeEmpty); err != nil {
		return err
	}
	if err := history.stage(ctx, "restore.check", clearHalf); err != nil {
		return err
	}
	err := history.stage(ctx, "restore", func(ctx context.Context, tx *Tx) error {
		if err := a.load(ctx, tx); err != nil {
			return err
		}
		return tx.setVersion(ctx, halfRestored, 1)
	})
	if err != nil {
		return fmt.Errorf("restore of history: %w", err)
	}
	// State comes last: until it is there, the database counts as empty and a restore can be repeated.
	if err = a.files(opts.File); err == nil {
		if err = state.stage(ctx, "restore", a.load); err != nil {
			err = fmt.Errorf("restore of state: %w", err)
		}
	}
	if err != nil {
		return errors.Join(err, history.stage(context.WithoutCancel(ctx), "restore.undo", clearHalf))
	}
	err = history.stage(context.WithoutCancel(ctx), "restore.done", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM schema_version WHERE name = ?", halfRestored)
		return err
	})
	if err != nil {
		return err
	}
	return errors.Join(state.upgrade(ctx), history.upgrade(ctx))
}

// restoreWhole restores a database that has all sets, in one transaction that also makes the tables. An engine that
// starts meanwhile waits for it.
func (a *stored) restoreWhole(ctx context.Context, db *DB, opts RestoreOptions) error {
	first := db.sets[0]
	return first.Exclusive(ctx, "migrate", func(update Updater) error {
		return update(ctx, "restore", func(ctx context.Context, tx *Tx) error {
			for _, s := range db.sets {
				tx := &Tx{tx: tx.tx, set: s, cache: tx.cache}
				if err := a.restoreSet(ctx, tx); err != nil {
					return fmt.Errorf("restore of %s: %w", s.name, err)
				}
			}
			return a.files(opts.File)
		})
	})
}

// restoreSet makes a set's tables, fills them and converts what is in them.
func (a *stored) restoreSet(ctx context.Context, tx *Tx) error {
	if err := tx.migrate(ctx); err != nil {
		return err
	}
	if err := clearHalf(ctx, tx); err != nil {
		return err
	}
	if err := a.load(ctx, tx); err != nil {
		return err
	}
	within := func(ctx context.Context, _ string, fn func(context.Context, *Tx) error) error { return fn(ctx, tx) }
	for _, s := range tx.set.schemas {
		if s.Upgrade == nil {
			continue
		}
		if err := s.Upgrade(ctx, tx.set, within); err != nil {
			return err
		}
	}
	return nil
}

// halfRestored is the row beside the versions of the tables that marks the history of a restore whose state is not
// there yet.
const halfRestored = "restore"

// clearHalf removes what a restore that was interrupted has left, and checks that the tables are empty.
func clearHalf(ctx context.Context, tx *Tx) error {
	marks, err := tx.Exec(ctx, "DELETE FROM schema_version WHERE name = ?", halfRestored)
	if err != nil {
		return err
	}
	if marks > 0 {
		for _, s := range tx.set.schemas {
			if err := tx.remake(ctx, s, len(s.steps)); err != nil {
				return err
			}
		}
	}
	return mustBeEmpty(ctx, tx)
}

func mustBeEmpty(ctx context.Context, tx *Tx) error {
	for _, s := range tx.set.schemas {
		for _, t := range s.Tables {
			if t.Transient {
				if _, err := tx.Exec(ctx, "DELETE FROM "+t.Name); err != nil {
					return err
				}
				continue
			}
			rows := 0
			err := tx.Each(ctx, "SELECT 1 FROM "+t.Name+" LIMIT 1", nil, func(Scanner) error { rows++; return nil })
			if err != nil {
				return err
			}
			if rows > 0 && !t.Seeded {
				return ErrNotEmpty.Because("it has rows in %s", t.Name)
			}
		}
	}
	return nil
}

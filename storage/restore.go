package storage

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
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

// stored is an archive on its way in.
type stored struct {
	file     *os.File
	members  map[string]*zip.File
	manifest manifest
	versions map[string]int // of each schema, by [schema.key]
}

// openArchive copies an archive to a file, since a zip file is read from its end.
func openArchive(r io.Reader, dir string) (*stored, error) {
	f, err := os.CreateTemp(dir, "restore-*.zip")
	if err != nil {
		return nil, err
	}
	a := &stored{file: f, members: make(map[string]*zip.File)}
	if err := a.open(r); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *stored) close() {
	_ = a.file.Close()
	_ = os.Remove(a.file.Name())
}

func (a *stored) open(r io.Reader) error {
	size, err := io.Copy(a.file, r)
	if err != nil {
		return fmt.Errorf("reading the archive: %w", err)
	}
	z, err := zip.NewReader(a.file, size)
	if err != nil {
		return ErrBadArchive.Because("it is not a complete zip file").Wrap(err)
	}
	for _, f := range z.File {
		if a.members[f.Name] != nil {
			return ErrBadArchive.Because("member %q is there twice", f.Name)
		}
		a.members[f.Name] = f
	}
	m := a.members[archiveManifest]
	if m == nil {
		return ErrBadArchive.Because("it has no manifest")
	}
	return a.read(archiveManifest, func(r io.Reader) error {
		if err := json.NewDecoder(io.LimitReader(r, 16<<20)).Decode(&a.manifest); err != nil {
			return ErrBadArchive.Because("its manifest cannot be read").Wrap(err)
		}
		return nil
	})
}

func (a *stored) read(name string, use func(io.Reader) error) error {
	m := a.members[name]
	if m == nil {
		return ErrBadArchive.Because("member %q is missing", name)
	}
	r, err := m.Open()
	if err != nil {
		return ErrBadArchive.Because("member %q cannot be read", name).Wrap(err)
	}
	return errors.Join(use(r), r.Close())
}

// check reads every member and compares it to the manifest.
func (a *stored) check(ctx context.Context, db *DB) error {
	m := &a.manifest
	if m.Product != archiveProduct || m.Format < 1 {
		return ErrBadArchive.Because("it is not one of this product")
	}
	if m.Format > archiveFormat {
		return ErrNewer.Because("the archive has format %d, this program knows up to %d", m.Format, archiveFormat)
	}
	if err := a.readVersions(); err != nil {
		return err
	}
	known := make(map[string]bool) // members
	open := make(map[string]*schema)
	for _, set := range db.sets {
		for _, s := range set.schemas {
			open[s.key()] = s
			for _, t := range s.Tables {
				known[s.member(t)] = true
			}
		}
	}
	for key, version := range a.versions {
		if s := open[key]; s == nil {
			return ErrNewer.Because("the archive has tables of %s, which this database was opened without", key)
		} else if version > len(s.steps) {
			return ErrNewer.Because("the archive's tables of %s have version %d, this program knows up to %d", key, version, len(s.steps))
		}
	}
	if len(m.Members)+1 != len(a.members) {
		return ErrBadArchive.Because("its members are not those of its manifest")
	}
	for _, want := range m.Members {
		if err := ctx.Err(); err != nil {
			return ErrCanceled.Wrap(err)
		}
		if name, isFile := strings.CutPrefix(want.Name, archiveFiles); isFile && !fileName(name) || !isFile && !known[want.Name] {
			return ErrBadArchive.Because("member %q does not belong in it", want.Name)
		}
		if err := a.read(want.Name, func(r io.Reader) error { return checkMember(r, want) }); err != nil {
			return err
		}
	}
	return nil
}

// readVersions sets the versions of the schemas.
func (a *stored) readVersions() error {
	a.versions = a.manifest.Schema
	if a.manifest.Format == 1 {
		a.versions = make(map[string]int)
		for _, set := range []SetName{State, History} {
			version, newest := a.manifest.Schema[string(set)], len(singleCounter[set])
			if version < 1 {
				return ErrBadArchive.Because("it has no version of the %s tables", set)
			} else if version > newest {
				return ErrNewer.Because("the archive's %s tables have version %d, this program knows up to %d", set, version, newest)
			}
			maps.Copy(a.versions, splitCounter(set, version))
		}
	}
	for key, version := range a.versions {
		if version < 1 {
			return ErrBadArchive.Because("it has version %d of %s", version, key)
		}
	}
	if len(a.versions) == 0 {
		return ErrBadArchive.Because("it has no version of any tables")
	}
	return nil
}

// checkMember compares a member's length, check sum and number of rows.
func checkMember(r io.Reader, want member) error {
	sum, lines := sha256.New(), &lineCounter{}
	n, err := io.Copy(io.MultiWriter(sum, lines), r)
	if err != nil {
		return ErrBadArchive.Because("member %q cannot be read", want.Name).Wrap(err)
	}
	rows := lines.count - 1
	if strings.HasPrefix(want.Name, archiveFiles) {
		rows = 0
	}
	if n != want.Bytes || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 || rows != want.Rows {
		return ErrBadArchive.Because("member %q does not match the manifest", want.Name)
	}
	return nil
}

type lineCounter struct{ count int64 }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.count += int64(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// load fills a set's tables. Tables of an earlier version are made as they were then, filled, and brought to the newest
// version.
func (a *stored) load(ctx context.Context, tx *Tx) error {
	if err := mustBeEmpty(ctx, tx); err != nil {
		return err
	}
	for _, s := range tx.set.schemas {
		version := a.versions[s.key()]
		if version == 0 {
			continue // the schema is younger than the archive
		}
		if version < len(s.steps) {
			if err := tx.remake(ctx, s, version); err != nil {
				return err
			}
		}
		if err := a.loadSchema(ctx, tx, s); err != nil {
			return err
		}
		if err := tx.migrateSchema(ctx, s, version, len(s.steps)); err != nil {
			return err
		}
	}
	return nil
}

func (a *stored) loadSchema(ctx context.Context, tx *Tx, s *schema) error {
	for _, t := range s.Tables {
		name := s.member(t)
		if a.members[name] == nil {
			continue // the table is younger than the archive
		}
		if err := a.read(name, func(r io.Reader) error { return loadTable(ctx, tx, t, r) }); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		if t.Serial == "" {
			continue
		}
		if err := tx.set.dialect.SyncSequence(ctx, tx.tx, t.Name, t.Serial); err != nil {
			return explain(tx.set.dialect, err)
		}
	}
	return nil
}

// loadTable fills a table from its member.
func loadTable(ctx context.Context, tx *Tx, t Table, from io.Reader) error {
	if t.Seeded {
		if _, err := tx.Exec(ctx, "DELETE FROM "+t.Name); err != nil {
			return err
		}
	}
	r := bufio.NewReaderSize(from, 256<<10)
	head, err := r.ReadBytes('\n')
	if err != nil {
		return ErrBadArchive.Because("table %s has no columns", t.Name).Wrap(err)
	}
	var columns []column
	if err := json.Unmarshal(head, &columns); err != nil {
		return ErrBadArchive.Because("the columns of table %s cannot be read", t.Name).Wrap(err)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || c.Name == "" {
			return ErrBadArchive.Because("table %s has a column %q", t.Name, c.Name)
		}
		names[i] = c.Name
	}
	into := "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES"
	rows := make([][]any, 0, MaxRows)
	for end := false; !end; {
		line, err := r.ReadBytes('\n')
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return ErrBadArchive.Because("table %s cannot be read", t.Name).Wrap(err)
		}
		if len(line) > 0 {
			row, err := readRow(columns, line)
			if err != nil {
				return ErrBadArchive.Because("a row of table %s cannot be read", t.Name).Wrap(err)
			}
			rows = append(rows, row)
		}
		if len(rows) == cap(rows) || end && len(rows) > 0 {
			if err := tx.Insert(ctx, into, rows, ""); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return nil
}

func readRow(columns []column, line []byte) ([]any, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, err
	}
	if len(raw) != len(columns) || len(raw) == 0 {
		return nil, fmt.Errorf("%d values for %d columns", len(raw), len(columns))
	}
	row := make([]any, len(raw))
	for i, c := range columns {
		var err error
		if row[i], err = readValue(c.Type, raw[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return row, nil
}

// files calls file with the further files.
func (a *stored) files(file func(name string, r io.Reader) error) error {
	if file == nil {
		return nil
	}
	for _, m := range a.manifest.Members {
		name, ok := strings.CutPrefix(m.Name, archiveFiles)
		if !ok {
			continue
		}
		if err := a.read(m.Name, func(r io.Reader) error { return file(name, r) }); err != nil {
			return fmt.Errorf("restore of file %s: %w", name, err)
		}
	}
	return nil
}

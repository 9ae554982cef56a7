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
	"os"
	"strings"
)

// RestoreOptions are the settings of a restore. The zero RestoreOptions works.
type RestoreOptions struct {
	// File is given each further file of the archive, before the state: again when a restore is repeated. The name has slashes and
	// stays below wherever it is put. Nil leaves the files out.
	File func(name string, r io.Reader) error

	TempDir string // where the archive is kept meanwhile; empty for the system's
}

// Restore fills an empty database from a backup, of whichever kind of database it was made. It reads
// the whole archive and checks it before it changes anything. An archive of an earlier version is
// brought to the newest one; one of a later version is ErrNewer. The database must not be in use. A
// restore that failed, also because the program ended, can be repeated.
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
	if err := db.state.stage(ctx, "restore.check", mustBeEmpty); err != nil {
		return err
	}
	if err := db.past.stage(ctx, "restore.check", clearHalf); err != nil {
		return err
	}
	err = db.past.stage(ctx, "restore", func(ctx context.Context, tx *Tx) error {
		if err := a.load(ctx, tx); err != nil {
			return err
		}
		return tx.markHalf(ctx)
	})
	if err != nil {
		return fmt.Errorf("restore of history: %w", err)
	}
	db.history.names.forget()
	// State comes last: until it is there, the database counts as empty and a restore can be repeated.
	if err = a.files(opts.File); err == nil {
		if err = db.state.stage(ctx, "restore", a.load); err != nil {
			err = fmt.Errorf("restore of state: %w", err)
		}
	}
	if err != nil {
		defer db.history.names.forget()
		return errors.Join(err, db.past.stage(context.WithoutCancel(ctx), "restore.undo", clearHalf))
	}
	return db.past.stage(context.WithoutCancel(ctx), "restore.done", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM schema_version WHERE name = ?", halfRestored)
		return err
	})
}

// halfRestored is the row beside the versions of the tables that says that the history is of a restore
// whose state is not there yet.
const halfRestored = "restore"

func (t *Tx) markHalf(ctx context.Context) error {
	_, err := t.Exec(ctx, "INSERT INTO schema_version (name, version) VALUES (?, 1)", halfRestored)
	return err
}

// clearHalf takes away what a restore that did not come to its end has left, and checks that the
// tables are empty.
func clearHalf(ctx context.Context, tx *Tx) error {
	marks, err := tx.Exec(ctx, "DELETE FROM schema_version WHERE name = ?", halfRestored)
	if err == nil && marks > 0 {
		err = tx.remake(ctx, nil)
	}
	if err != nil {
		return err
	}
	return mustBeEmpty(ctx, tx)
}

// stage runs one transaction that nobody else may run.
func (s *set) stage(ctx context.Context, op string, fn func(context.Context, *Tx) error) error {
	return s.exclusive(ctx, op, func(update updater) error { return update(ctx, op, fn) })
}

func mustBeEmpty(ctx context.Context, tx *Tx) error {
	for _, t := range tables(tx.set.name) {
		rows := 0
		err := tx.Each(ctx, "SELECT 1 FROM "+t.name+" LIMIT 1", nil, func(Scanner) error { rows++; return nil })
		if err != nil {
			return err
		}
		if rows > 0 && !t.seeded {
			return ErrNotEmpty.Because("it has rows in %s", t.name)
		}
	}
	return nil
}

// stored is an archive on its way in.
type stored struct {
	file     *os.File
	members  map[string]*zip.File
	manifest manifest
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
		return ErrBadArchive.Because("it is no whole zip file").Wrap(err)
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
	for _, s := range []*set{db.state, db.past} {
		steps, err := migrations(migrationFiles, s.name)
		if err != nil {
			return err
		}
		if v := m.Schema[s.name]; v < 1 {
			return ErrBadArchive.Because("it has no version of the %s tables", s.name)
		} else if v > len(steps) {
			return ErrNewer.Because("the archive's %s tables have version %d, this program knows up to %d", s.name, v, len(steps))
		}
	}
	if len(m.Members)+1 != len(a.members) {
		return ErrBadArchive.Because("its members are not those of its manifest")
	}
	for _, want := range m.Members {
		if err := ctx.Err(); err != nil {
			return errCanceled.Wrap(err)
		}
		if name, isFile := strings.CutPrefix(want.Name, archiveFiles); isFile && !fileName(name) || !isFile && !knownTable(want.Name) {
			return ErrBadArchive.Because("member %q does not belong in it", want.Name)
		}
		if err := a.read(want.Name, func(r io.Reader) error { return checkMember(r, want) }); err != nil {
			return err
		}
	}
	return nil
}

func knownTable(name string) bool {
	for _, set := range []string{"state", "history"} {
		for _, t := range tables(set) {
			if name == tableMember(set, t.name) {
				return true
			}
		}
	}
	return false
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
		return ErrBadArchive.Because("member %q is not what the manifest says", want.Name)
	}
	return nil
}

type lineCounter struct{ count int64 }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.count += int64(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// load fills a set's tables. Tables of an earlier version are made as they were then, filled, and
// brought to the newest version.
func (a *stored) load(ctx context.Context, tx *Tx) error {
	if err := mustBeEmpty(ctx, tx); err != nil {
		return err
	}
	steps, err := migrations(migrationFiles, tx.set.name)
	if err != nil {
		return err
	}
	version := a.manifest.Schema[tx.set.name]
	if version < len(steps) {
		if err := tx.remake(ctx, steps[:version]); err != nil {
			return err
		}
	}
	for _, t := range tables(tx.set.name) {
		name := tableMember(tx.set.name, t.name)
		if a.members[name] == nil {
			continue // the table is younger than the archive
		}
		if err := a.read(name, func(r io.Reader) error { return loadTable(ctx, tx, t, r) }); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
		if t.serial == "" {
			continue
		}
		if err := tx.set.dialect.Loaded(ctx, tx.tx, t.name, t.serial); err != nil {
			return explain(tx.set.dialect, err)
		}
	}
	return tx.migrate(ctx, steps)
}

// remake makes the set's tables anew, in an earlier version; nil steps mean the newest one.
func (t *Tx) remake(ctx context.Context, steps []migration) error {
	if steps == nil {
		var err error
		if steps, err = migrations(migrationFiles, t.set.name); err != nil {
			return err
		}
	}
	for _, table := range tables(t.set.name) {
		if _, err := t.tx.ExecContext(ctx, "DROP TABLE "+table.name); err != nil {
			return explain(t.set.dialect, err)
		}
	}
	if _, err := t.Exec(ctx, "DELETE FROM schema_version WHERE name = ?", t.set.name); err != nil {
		return err
	}
	return t.migrate(ctx, steps)
}

// loadTable fills a table from its member.
func loadTable(ctx context.Context, tx *Tx, t table, from io.Reader) error {
	if t.seeded {
		if _, err := tx.Exec(ctx, "DELETE FROM "+t.name); err != nil {
			return err
		}
	}
	r := bufio.NewReaderSize(from, 256<<10)
	head, err := r.ReadBytes('\n')
	if err != nil {
		return ErrBadArchive.Because("table %s has no columns", t.name).Wrap(err)
	}
	var columns []column
	if err := json.Unmarshal(head, &columns); err != nil {
		return ErrBadArchive.Because("the columns of table %s cannot be read", t.name).Wrap(err)
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		if strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || c.Name == "" {
			return ErrBadArchive.Because("table %s has a column %q", t.name, c.Name)
		}
		names[i] = c.Name
	}
	into := "INSERT INTO " + t.name + " (" + strings.Join(names, ", ") + ") VALUES"
	rows := make([][]any, 0, maxRows)
	for end := false; !end; {
		line, err := r.ReadBytes('\n')
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return ErrBadArchive.Because("table %s cannot be read", t.name).Wrap(err)
		}
		if len(line) > 0 {
			row, err := readRow(columns, line)
			if err != nil {
				return ErrBadArchive.Because("a row of table %s cannot be read", t.name).Wrap(err)
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

// files hands over the further files.
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

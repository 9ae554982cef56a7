package storage

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The parts of an archive: a zip file with a member for each table, further files under files/, and last the manifest,
// which describes the others.
const (
	archiveProduct  = "otkit"
	archiveFormat   = 2 // 1 had a version for each set of tables instead of one for each schema
	archiveManifest = "manifest.json"
	archiveFiles    = "files/"
)

// manifest is the member that describes an archive.
type manifest struct {
	Product   string         `json:"product"`
	Format    int            `json:"format"`
	CreatedAt time.Time      `json:"createdAt"`
	Schema    map[string]int `json:"schema"` // version of each schema, such as state/accounts
	Members   []member       `json:"members"`
}

type member struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// BackupOptions are the settings of a backup. The zero BackupOptions works.
type BackupOptions struct {
	// Files are further files: the name in the archive, with slashes, and the path. They are read in the order of their names. Those that do not
	// exist when they are read are omitted.
	Files map[string]string

	// Ignore has the names of tables that belong to no schema and are omitted, such as those of another program in
	// the same database.
	Ignore []string
}

// Backup writes everything to w while the database is in use: each set of tables as it is at one moment. The archive
// fits every kind of database. It contains password hashes and whatever the further files contain; protect it
// accordingly. If the database has a table that belongs to none of its schemas, Backup returns ErrUnowned, since the
// archive would lack it.
//
// A slow w keeps a reading transaction open; a database file may grow meanwhile.
func (db *DB) Backup(ctx context.Context, w io.Writer, opts BackupOptions) error {
	a := &archive{zip: zip.NewWriter(w), manifest: manifest{
		Product: archiveProduct, Format: archiveFormat, CreatedAt: db.opts.Now().UTC(), Schema: make(map[string]int),
	}}
	// Most of an archive is compressed already: compressing harder takes time and saves little.
	a.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	owned := db.ownedTables(opts.Ignore)
	for _, s := range db.sets {
		err := s.viewOnce(ctx, func(ctx context.Context, tx *Tx) error {
			if err := tx.patient(ctx); err != nil {
				return err
			}
			if err := tx.checkOwned(ctx, owned); err != nil {
				return err
			}
			return a.addSet(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("backup of %s: %w", s.name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opts.Files)) {
		if !fileName(name) {
			return ErrOption.Because("Files: %q is not a relative path with slashes", name)
		}
		if err := a.addFile(ctx, name, opts.Files[name]); err != nil {
			return fmt.Errorf("backup of file %s: %w", name, err)
		}
	}
	return a.finish()
}

// ownedTables returns the names of all tables that belong in the database.
func (db *DB) ownedTables(more []string) map[string]bool {
	owned := map[string]bool{"schema_version": true}
	for _, name := range more {
		owned[name] = true
	}
	for _, s := range db.sets {
		for _, schema := range s.schemas {
			for _, t := range schema.Tables {
				owned[t.Name] = true
			}
		}
	}
	return owned
}

// checkOwned returns ErrUnowned if there is a table that is not owned.
func (t *Tx) checkOwned(ctx context.Context, owned map[string]bool) error {
	var strange []string
	err := t.Each(ctx, t.set.features.Tables, nil, func(row Scanner) error {
		var name string
		err := row.Scan(&name)
		if !owned[name] {
			strange = append(strange, name)
		}
		return err
	})
	if err == nil && len(strange) > 0 {
		slices.Sort(strange)
		err = ErrUnowned.Because("%s", strings.Join(strange, ", "))
	}
	return err
}

// fileName reports whether a name of a further file stays where it belongs, on every system.
func fileName(name string) bool {
	return fs.ValidPath(name) && name != "." && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\\:\x00")
}

// archive is a backup on its way out.
type archive struct {
	zip      *zip.Writer
	manifest manifest
}

// memberWriter counts and sums what goes into a member.
type memberWriter struct {
	*bufio.Writer
	to   io.Writer
	hash hash.Hash
	member
}

func (m *memberWriter) Write(p []byte) (int, error) {
	m.hash.Write(p)
	m.Bytes += int64(len(p))
	return m.to.Write(p)
}

// add adds a member with what fill writes.
func (a *archive) add(name string, fill func(w *bufio.Writer, m *member) error) error {
	to, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: a.manifest.CreatedAt})
	if err != nil {
		return err
	}
	m := &memberWriter{to: to, hash: sha256.New(), member: member{Name: name}}
	m.Writer = bufio.NewWriterSize(writerFunc(m.Write), 64<<10)
	if err := fill(m.Writer, &m.member); err != nil {
		return err
	}
	if err := m.Flush(); err != nil {
		return err
	}
	m.SHA256 = hex.EncodeToString(m.hash.Sum(nil))
	a.manifest.Members = append(a.manifest.Members, m.member)
	return nil
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (a *archive) addSet(ctx context.Context, tx *Tx) error {
	versions, err := tx.versions(ctx)
	if err != nil {
		return err
	}
	for _, s := range tx.set.schemas {
		a.manifest.Schema[s.key()] = versions[s.key()]
		for _, t := range s.Tables {
			if t.Transient {
				continue
			}
			err := a.add(s.member(t), func(w *bufio.Writer, m *member) (err error) {
				m.Rows, err = writeTable(ctx, tx, t, w)
				return err
			})
			if err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

func (a *archive) addFile(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return a.add(archiveFiles+name, func(w *bufio.Writer, _ *member) error {
		if _, err := io.Copy(w, f); err != nil {
			return err
		}
		return ctx.Err()
	})
}

func (a *archive) finish() error {
	w, err := a.zip.Create(archiveManifest)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(a.manifest); err != nil {
		return err
	}
	return a.zip.Close()
}

package storage

import (
	"archive/zip"
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

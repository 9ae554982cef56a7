package storage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
)

// AASStore is aas.Store over the database.
//
// An index entry has a bound, so that ids, and names of files, above 1200 bytes are kept in the order
// of their first 1140 bytes and then of a hash: paging over them misses nothing.
type AASStore struct {
	db      *DB
	totals  aasTotals
	changes aasChanges
}

var _ aas.Store = (*AASStore)(nil)

const (
	maxKeyBytes    = 1200
	keyPrefixBytes = 1140
)

// keyOf gives what stands for a text in an index: the text or, for a long one, its beginning and its
// hash, which together are longer than any text that stands for itself. Zero bytes, which PostgreSQL
// does not take, are written in another way.
func keyOf(text string) string {
	text = withoutZeros(text)
	if len(text) <= maxKeyBytes {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	cut := keyPrefixBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + hex.EncodeToString(sum[:])
}

var (
	zeroBytes = strings.NewReplacer("\x00", "\x01\x01", "\x01", "\x01\x02")
	zerosBack = strings.NewReplacer("\x01\x01", "\x00", "\x01\x02", "\x01")
)

func withoutZeros(text string) string {
	if strings.ContainsAny(text, "\x00\x01") {
		return zeroBytes.Replace(text)
	}
	return text
}

// longText gives what stands for the whole text when keyOf does not.
func longText(text string) sql.NullString {
	text = withoutZeros(text)
	return sql.NullString{String: text, Valid: len(text) > maxKeyBytes}
}

// textOf gives the text that keyOf or longText was made of.
func textOf(kept string) string {
	if strings.Contains(kept, "\x01") {
		return zerosBack.Replace(kept)
	}
	return kept
}

const selectDocument = "SELECT id, long_id, id_short, version, live, json FROM aas_documents "

func scanDocument(row Scanner, kind aas.Kind) (d aas.Document, key string, err error) {
	var long sql.NullString
	d.Kind = kind
	err = row.Scan(&key, &long, &d.IDShort, &d.Version, &d.Live, &d.JSON)
	if d.ID = textOf(key); long.Valid {
		d.ID = textOf(long.String)
	}
	return d, key, err
}

// Get implements aas.Store.
func (s *AASStore) Get(ctx context.Context, kind aas.Kind, ids ...string) ([]aas.Document, error) {
	if len(ids) == 1 && s.singles() {
		return s.getSingle(ctx, kind, keyOf(ids[0]))
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(id)
	}
	var list []aas.Document
	err := s.db.View(ctx, "aas.get", func(ctx context.Context, tx *Tx) (err error) {
		list, err = documentsByKey(ctx, tx, kind, keys)
		return err
	})
	return list, err
}

// documentsByKey gives the documents that are there in the order of keys.
func documentsByKey(ctx context.Context, tx *Tx, kind aas.Kind, keys []string) ([]aas.Document, error) {
	if len(keys) == 1 {
		var list []aas.Document
		err := tx.Each(ctx, selectDocument+"WHERE kind = ? AND id = ?", []any{int64(kind), keys[0]}, func(row Scanner) error {
			d, _, err := scanDocument(row, kind)
			list = append(list, d)
			return err
		})
		return list, err
	}
	found := make(map[string]aas.Document, len(keys))
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = key
	}
	for marks, part := range lists(wanted) {
		args := append([]any{int64(kind)}, part...)
		err := tx.Each(ctx, selectDocument+"WHERE kind = ? AND id IN "+marks, args, func(row Scanner) error {
			d, key, err := scanDocument(row, kind)
			found[key] = d
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]aas.Document, 0, len(found))
	for _, key := range keys {
		if d, ok := found[key]; ok {
			list = append(list, d)
			delete(found, key)
		}
	}
	return list, nil
}

// File implements aas.Store.
func (s *AASStore) File(ctx context.Context, key aas.FileKey) (aas.StoredFile, error) {
	f := aas.StoredFile{Key: key}
	err := s.db.View(ctx, "aas.file", func(ctx context.Context, tx *Tx) error {
		return tx.Row(ctx, "SELECT content_type, data FROM aas_files WHERE kind = ? AND id = ? AND name = ?",
			[]any{int64(key.Kind), keyOf(key.ID), keyOf(key.Name)}, &f.ContentType, &f.Data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return aas.StoredFile{}, aas.ErrFileNotFound.On("name", key.Name)
	}
	return f, err
}

// FileNames implements aas.Store.
func (s *AASStore) FileNames(ctx context.Context, kind aas.Kind, id string) ([]string, error) {
	var names []string
	err := s.db.View(ctx, "aas.files", func(ctx context.Context, tx *Tx) error {
		names = nil
		return tx.Each(ctx, "SELECT COALESCE(long_name, name) FROM aas_files WHERE kind = ? AND id = ?",
			[]any{int64(kind), keyOf(id)}, func(row Scanner) error {
				var name string
				err := row.Scan(&name)
				names = append(names, textOf(name))
				return err
			})
	})
	slices.Sort(names)
	return names, err
}

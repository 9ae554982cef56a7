package aasstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/storage"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of shells, submodels and their files.
func Schema() storage.Schema {
	return storage.Schema{Name: "aas", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "aas_documents", Key: "kind, id"},
		{Name: "aas_chunks", Key: "kind, id, number"},
		{Name: "aas_terms", Key: "kind, name, value, id"},
		{Name: "aas_files", Key: "kind, id, name"},
		{Name: "aas_counts", Key: "kind, slot"},
	}}
}

// Store keeps asset administration shells and what belongs to them. Safe for concurrent use.
//
// An index entry has a bound, so that ids, and names of files, above 1200 bytes are kept in the order
// of their first 1140 bytes and then of a hash: paging over them misses nothing.
type Store struct {
	set     *storage.Set
	totals  totalCache
	changes changeLog
}

var _ repository.ElementStore = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

const (
	maxKeyBytes    = 1200
	keyPrefixBytes = 1140
)

// keyOf returns what stands for a text in an index: the text or, for a long one, its beginning and its
// hash, which together are longer than any text that stands for itself. Zero bytes, which PostgreSQL
// does not take, are written in another way.
func keyOf(text string) string {
	text = withoutZeros(text)
	if len(text) <= maxKeyBytes {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return runes.Cut(text, keyPrefixBytes) + hex.EncodeToString(sum[:])
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

// longText returns what stands for the whole text when keyOf does not.
func longText(text string) sql.NullString {
	text = withoutZeros(text)
	return sql.NullString{String: text, Valid: len(text) > maxKeyBytes}
}

// textOf returns the text that keyOf or longText was made of.
func textOf(kept string) string {
	if strings.Contains(kept, "\x01") {
		return zerosBack.Replace(kept)
	}
	return kept
}

const selectDocument = "SELECT id, long_id, id_short, version, live, json, size FROM aas_documents "

// row is a document as aas_documents has it.
type row struct {
	repository.Document
	key  string
	size int64 // of the JSON in bytes, if it is in aas_chunks; Document.JSON is then the outline
}

func scanDocument(from storage.Scanner, kind repository.Kind) (r row, err error) {
	var long sql.NullString
	r.Kind = kind
	err = from.Scan(&r.key, &long, &r.IDShort, &r.Version, &r.Live, &r.JSON, &r.size)
	if r.ID = textOf(r.key); long.Valid {
		r.ID = textOf(long.String)
	}
	return r, err
}

// Get implements repository.Store.
func (s *Store) Get(ctx context.Context, kind repository.Kind, ids ...string) ([]repository.Document, error) {
	if len(ids) == 1 {
		switch r, found, err := s.single(ctx, kind, keyOf(ids[0])); {
		case err != nil || !found:
			return nil, err
		case r.size == 0:
			return []repository.Document{r.Document}, nil
		}
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(id)
	}
	var list []repository.Document
	err := s.set.View(ctx, "aas.get", func(ctx context.Context, tx *storage.Tx) (err error) {
		list, err = documentsByKey(ctx, tx, kind, keys)
		return err
	})
	return list, err
}

// rowOf reads one document.
func rowOf(ctx context.Context, tx *storage.Tx, kind repository.Kind, key string) (r row, ok bool, err error) {
	err = tx.Each(ctx, selectDocument+"WHERE kind = ? AND id = ?", []any{int64(kind), key}, func(from storage.Scanner) error {
		r, err = scanDocument(from, kind)
		ok = true
		return err
	})
	return r, ok, err
}

// documentsByKey returns the documents that are there in the order of keys.
func documentsByKey(ctx context.Context, tx *storage.Tx, kind repository.Kind, keys []string) ([]repository.Document, error) {
	if len(keys) == 1 {
		r, ok, err := rowOf(ctx, tx, kind, keys[0])
		if err != nil || !ok {
			return nil, err
		}
		d, err := r.whole(ctx, tx)
		return []repository.Document{d}, err
	}
	found := make(map[string]row, len(keys))
	wanted := make([]any, len(keys))
	for i, key := range keys {
		wanted[i] = key
	}
	for marks, part := range storage.InLists(wanted) {
		args := append([]any{int64(kind)}, part...)
		err := tx.Each(ctx, selectDocument+"WHERE kind = ? AND id IN "+marks, args, func(from storage.Scanner) error {
			r, err := scanDocument(from, kind)
			found[r.key] = r
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]repository.Document, 0, len(found))
	for _, key := range keys {
		if r, ok := found[key]; ok {
			d, err := r.whole(ctx, tx)
			if err != nil {
				return nil, err
			}
			list = append(list, d)
			delete(found, key)
		}
	}
	return list, nil
}

// File implements repository.Store.
func (s *Store) File(ctx context.Context, key repository.FileKey) (repository.StoredFile, error) {
	f := repository.StoredFile{Key: key}
	err := s.set.View(ctx, "aas.file", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT content_type, data FROM aas_files WHERE kind = ? AND id = ? AND name = ?",
			[]any{int64(key.Kind), keyOf(key.ID), keyOf(key.Name)}, &f.ContentType, &f.Data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return repository.StoredFile{}, repository.ErrFileNotFound.On("name", key.Name)
	}
	return f, err
}

// FileNames implements repository.Store.
func (s *Store) FileNames(ctx context.Context, kind repository.Kind, id string) ([]string, error) {
	var names []string
	err := s.set.View(ctx, "aas.files", func(ctx context.Context, tx *storage.Tx) error {
		names = nil
		return tx.Each(ctx, "SELECT COALESCE(long_name, name) FROM aas_files WHERE kind = ? AND id = ?",
			[]any{int64(kind), keyOf(id)}, func(row storage.Scanner) error {
				var name string
				err := row.Scan(&name)
				names = append(names, textOf(name))
				return err
			})
	})
	slices.Sort(names)
	return names, err
}

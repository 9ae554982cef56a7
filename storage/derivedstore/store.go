package derivedstore

import (
	"context"
	"embed"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags/derived"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of derived tags and templates.
func Schema() storage.Schema {
	return storage.Schema{Name: "derived", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "derived_documents", Key: "kind, id"},
		{Name: "derived_position", Key: "name", Seeded: true},
	}}
}

// Store is a [derived.Repository]. Safe for concurrent use, by several processes too.
type Store struct{ set *storage.Set }

var _ derived.Repository = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set: set}, nil
}

// Documents implements [derived.Repository].
func (s *Store) Documents(ctx context.Context, kind string) (list []derived.Document, err error) {
	err = s.set.View(ctx, "derived.list", func(ctx context.Context, tx *storage.Tx) error {
		list = nil
		return tx.Each(ctx, "SELECT id, revision, body, created_us, updated_us FROM derived_documents WHERE kind = ? ORDER BY id", []any{kind},
			func(row storage.Scanner) error {
				d := derived.Document{Kind: kind}
				var body string
				err := row.Scan(&d.ID, &d.Revision, &body, (*storage.Timestamp)(&d.CreatedAt), (*storage.Timestamp)(&d.UpdatedAt))
				d.Body = []byte(body)
				list = append(list, d)
				return err
			})
	})
	return list, err
}

const selectPosition = "SELECT seq FROM derived_position WHERE name = 'documents'"

// Position implements [derived.Repository].
func (s *Store) Position(ctx context.Context) (seq int64, err error) {
	err = s.set.View(ctx, "derived.position", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, selectPosition, nil, &seq)
	})
	return seq, err
}

// Change implements [derived.Repository]. Removing alone works on a full disk too.
func (s *Store) Change(ctx context.Context, put, remove []derived.Document) (seq int64, err error) {
	update := s.set.Update
	if len(put) == 0 {
		update = s.set.UpdateVital
	}
	err = update(ctx, "derived.change", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "derived_documents"); err != nil {
			return err
		}
		for _, d := range remove {
			n, err := tx.Exec(ctx, "DELETE FROM derived_documents WHERE kind = ? AND id = ? AND revision = ?", d.Kind, storage.Text(d.ID), d.Revision)
			if err != nil {
				return err
			}
			if n == 0 {
				return derived.ErrChanged.On("id", d.ID)
			}
		}
		for _, d := range put {
			if err := putOne(ctx, tx, d); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "UPDATE derived_position SET seq = seq + 1 WHERE name = 'documents'"); err != nil {
			return err
		}
		return tx.Row(ctx, selectPosition, nil, &seq)
	})
	return seq, err
}

func putOne(ctx context.Context, tx *storage.Tx, d derived.Document) (err error) {
	var n int64
	if d.Revision == 1 {
		n, err = tx.Exec(ctx, `INSERT INTO derived_documents (kind, id, revision, body, created_us, updated_us) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (kind, id) DO NOTHING`, d.Kind, storage.Text(d.ID), d.Revision, storage.Text(string(d.Body)), storage.Timestamp(d.CreatedAt), storage.Timestamp(d.UpdatedAt))
	} else {
		n, err = tx.Exec(ctx, "UPDATE derived_documents SET revision = ?, body = ?, updated_us = ? WHERE kind = ? AND id = ? AND revision = ?",
			d.Revision, storage.Text(string(d.Body)), storage.Timestamp(d.UpdatedAt), d.Kind, storage.Text(d.ID), d.Revision-1)
	}
	if err == nil && n == 0 {
		return derived.ErrChanged.On("id", d.ID)
	}
	return err
}

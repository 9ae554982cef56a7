package tagconfigstore

import (
	"cmp"
	"context"
	"embed"
	"slices"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags/tagconfig"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of the tag configuration.
func Schema() storage.Schema {
	return storage.Schema{Name: "tagconfig", Set: storage.State, Migrations: migrations, Tables: []storage.Table{
		{Name: "tag_config_items", Key: "tag_id"},
		{Name: "tag_config_state", Key: "id", Seeded: true},
		{Name: "tag_config_files", Key: "engine"},
	}}
}

// Store is a [tagconfig.Repository]. Safe for concurrent use, by several processes too.
type Store struct {
	set    *storage.Set
	engine string
}

var _ tagconfig.Repository = (*Store)(nil)

// New returns a store over a database that was opened with [Schema].
func New(db *storage.DB) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	return &Store{set, ""}, nil
}

// Of returns the store with what is known of the model file of one engine. Engines that share a database and have a file each need
// it: else each takes its own file, when it was away, for one that somebody has edited, and undoes what the others changed.
func (s *Store) Of(engine string) *Store { return &Store{s.set, engine} }

// Load implements [tagconfig.Repository].
func (s *Store) Load(ctx context.Context, each func(tagconfig.Record) error) (state tagconfig.State, err error) {
	var records []tagconfig.Record
	err = s.set.View(ctx, "tagconfig.load", func(ctx context.Context, tx *storage.Tx) error {
		records = nil
		if state, _, err = s.readState(ctx, tx); err != nil {
			return err
		}
		return tx.Each(ctx, "SELECT tag_id, item, position, revision FROM tag_config_items WHERE item <> ''", nil, collect(&records))
	})
	// Here, since SQLite would sort in a file.
	slices.SortFunc(records, func(a, b tagconfig.Record) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.TagID, b.TagID))
	})
	return state, deliver(records, each, err)
}

// Changes implements [tagconfig.Repository].
func (s *Store) Changes(ctx context.Context, since int64, each func(tagconfig.Record) error) (state tagconfig.State, err error) {
	var records []tagconfig.Record
	err = s.set.View(ctx, "tagconfig.changes", func(ctx context.Context, tx *storage.Tx) (err error) {
		records = nil
		var trimmed int64
		if state, trimmed, err = s.readState(ctx, tx); err != nil || state.Revision == since {
			return err
		}
		if since < trimmed || since > state.Revision { // a restored database may be behind
			return tagconfig.ErrRevision
		}
		return tx.Each(ctx, "SELECT tag_id, item, position, revision FROM tag_config_items WHERE revision > ?", []any{since}, collect(&records))
	})
	return state, deliver(records, each, err)
}

func collect(records *[]tagconfig.Record) func(storage.Scanner) error {
	return func(row storage.Scanner) error {
		var r tagconfig.Record
		err := row.Scan(&r.TagID, &r.Text, &r.Position, &r.Revision)
		if len(r.Text) == 0 {
			r.Text = nil
		}
		*records = append(*records, r)
		return err
	}
}

func deliver(records []tagconfig.Record, each func(tagconfig.Record) error, err error) error {
	for i := 0; err == nil && i < len(records); i++ {
		err = each(records[i])
	}
	return err
}

func (s *Store) readState(ctx context.Context, tx *storage.Tx) (state tagconfig.State, trimmed int64, err error) {
	var header string
	f := &state.File
	if err = tx.Row(ctx, "SELECT revision, trimmed, header FROM tag_config_state WHERE id = 1", nil, &state.Revision, &trimmed, &header); err != nil {
		return state, 0, err
	}
	if header != "" {
		state.Header = []byte(header)
	}
	err = tx.Each(ctx, "SELECT written_hash, written_revision, next_hash, next_revision FROM tag_config_files WHERE engine = ?", []any{s.engine},
		func(row storage.Scanner) error {
			return row.Scan(&f.Written.Hash, &f.Written.Revision, &f.Next.Hash, &f.Next.Revision)
		})
	return state, trimmed, err
}

// keepRemoved is for how many edits it is known which items were removed.
const keepRemoved = 10_000

// Apply implements [tagconfig.Repository].
func (s *Store) Apply(ctx context.Context, from int64, change tagconfig.Changeset) (int64, error) {
	next := from + 1
	err := s.set.Update(ctx, "tagconfig.apply", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, "tag_config_state"); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, "UPDATE tag_config_state SET revision = ? WHERE id = 1 AND revision = ?", next, from)
		if err != nil {
			return err
		}
		if n == 0 {
			return tagconfig.ErrRevision
		}
		if err := put(ctx, tx, change.Records, next); err != nil {
			return err
		}
		if change.Header != nil {
			if _, err := tx.Exec(ctx, "UPDATE tag_config_state SET header = ? WHERE id = 1", storage.Text(string(change.Header))); err != nil {
				return err
			}
		}
		if change.File != nil {
			if err := s.noteFile(ctx, tx, *change.File); err != nil {
				return err
			}
		}
		return trim(ctx, tx, next)
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// put stores records of a revision, in portions, since the rows take more memory than the records.
func put(ctx context.Context, tx *storage.Tx, records []tagconfig.Record, revision int64) error {
	var rows [][]any
	for part := range slices.Chunk(records, 2000) {
		rows = rows[:0]
		for _, r := range part {
			rows = append(rows, []any{r.TagID, storage.Text(string(r.Text)), r.Position, revision})
		}
		err := tx.Insert(ctx, "INSERT INTO tag_config_items (tag_id, item, position, revision) VALUES", rows,
			"ON CONFLICT (tag_id) DO UPDATE SET item = excluded.item, position = excluded.position, revision = excluded.revision")
		if err != nil {
			return err
		}
	}
	return nil
}

// trim forgets old removals, now and then.
func trim(ctx context.Context, tx *storage.Tx, revision int64) error {
	const every = 1000
	if revision%every != 0 || revision <= keepRemoved {
		return nil
	}
	n, err := tx.Exec(ctx, "DELETE FROM tag_config_items WHERE item = '' AND revision <= ?", revision-keepRemoved)
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE tag_config_state SET trimmed = ? WHERE id = 1", revision-keepRemoved)
	return err
}

// NoteFile implements [tagconfig.Repository].
func (s *Store) NoteFile(ctx context.Context, file tagconfig.FileState) error {
	return s.set.Update(ctx, "tagconfig.file", func(ctx context.Context, tx *storage.Tx) error { return s.noteFile(ctx, tx, file) })
}

func (s *Store) noteFile(ctx context.Context, tx *storage.Tx, f tagconfig.FileState) error {
	return tx.Insert(ctx, "INSERT INTO tag_config_files (engine, written_hash, written_revision, next_hash, next_revision) VALUES",
		[][]any{{s.engine, f.Written.Hash, f.Written.Revision, f.Next.Hash, f.Next.Revision}},
		`ON CONFLICT (engine) DO UPDATE SET written_hash = excluded.written_hash, written_revision = excluded.written_revision,
			next_hash = excluded.next_hash, next_revision = excluded.next_revision`)
}

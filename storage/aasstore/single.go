package aasstore

import (
	"context"
	"database/sql"
	"errors"
	"hash/fnv"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

// single returns one document, if it is there.
func (s *Store) single(ctx context.Context, kind repository.Kind, key string) (r row, ok bool, err error) {
	err = s.set.Row(ctx, "aas.get", selectDocument+"WHERE kind = ? AND id = ?", []any{int64(kind), key}, func(from storage.Scanner) (err error) {
		r, err = scanDocument(from, kind)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return row{}, false, nil
	}
	return r, err == nil, err
}

const createDocument = `WITH made AS (` + insertDocument + ` (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (kind, id) DO NOTHING RETURNING kind, id),
	termed AS (INSERT INTO aas_terms (kind, name, value, id)
		SELECT made.kind, t.name, t.value, made.id FROM made, unnest(?::TEXT[], ?::TEXT[]) AS t(name, value)),
	counted AS (INSERT INTO aas_counts (kind, slot, documents, changes) SELECT made.kind, ?::BIGINT, 1, 1 FROM made
		ON CONFLICT (kind, slot) DO UPDATE SET documents = aas_counts.documents + 1, changes = aas_counts.changes + 1)
	SELECT COUNT(*) FROM made`

// writeSingle makes a change of the kind that [writer.fastPath] makes, as one statement. If it cannot, it changes
// nothing.
func writeSingle(ctx context.Context, direct storage.Direct, c *repository.Change, facts []byte) (version uint64, done bool, err error) {
	d := &c.Document
	var made int64
	switch fastPathOf(c) {
	case fastUpdate:
		made, err = direct.Exec(ctx, "aas.write", updateDocument, updateRow(c, facts))
		version = c.Match.Version + 1
	case fastCreate:
		names, values := make([]string, len(d.Terms)), make([]string, len(d.Terms))
		for i, t := range d.Terms {
			names[i], values[i] = t.Name, keyOf(t.Value)
		}
		args := append(documentRow(c, facts), names, values, countSlot(d.ID))
		err = direct.WriteRow(ctx, "aas.write", createDocument, args, &made)
		version = c.Next(0)
	}
	return version, made == 1, err
}

// countSlots is in how many rows the documents of a kind are counted where writers run side by side.
const countSlots = 64

func countSlot(id string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int64(h.Sum32() % countSlots)
}

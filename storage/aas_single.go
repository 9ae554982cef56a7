package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"hash/fnv"
	"time"

	"github.com/otkit/otkit/aas"
)

// singles says whether a document is read and written by one statement without a transaction around it,
// which it is by itself. With a server that spares the round trips of its begin and its end, most of
// what such a request costs; where writers share a transaction there is none to spare.
func (s *AASStore) singles() bool { return !s.db.state.traits.Group }

// single runs a statement by itself.
func (s *AASStore) single(ctx context.Context, op string, run func(*set) error) error {
	start, state := time.Now(), s.db.state
	err := state.retry(ctx, func() error {
		if state.closed.Load() {
			return ErrClosed
		}
		return explain(state.dialect, run(state))
	})
	state.observe(op, time.Since(start), err)
	return err
}

// getSingle gives one document, or none.
func (s *AASStore) getSingle(ctx context.Context, kind aas.Kind, key string) (list []aas.Document, err error) {
	err = s.single(ctx, "aas.get", func(state *set) error {
		row := state.pools.Read.QueryRowContext(ctx, state.rebind(selectDocument+"WHERE kind = ? AND id = ?"), int64(kind), key)
		d, _, err := scanDocument(row, kind)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		list = []aas.Document{d}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// writing runs a statement that writes. A context that ends counts until the statement begins, as in
// [set.alone].
func (s *AASStore) writing(ctx context.Context, run func(context.Context, *sql.Conn, *set) error) error {
	return s.single(ctx, "aas.write", func(state *set) (err error) {
		for range maxStale {
			err = s.onConn(ctx, state, run)
			if !errors.Is(err, driver.ErrBadConn) { // which says that nothing was sent
				break
			}
		}
		return err
	})
}

// maxStale is how many connections of the pool may turn out to be closed by the server.
const maxStale = 3

func (s *AASStore) onConn(ctx context.Context, state *set, run func(context.Context, *sql.Conn, *set) error) error {
	conn, err := state.pools.Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxEnd)
	defer cancel()
	return run(kept, conn, state)
}

const createDocument = `WITH made AS (` + insertDocument + ` (?,?,?,?,?,?,?,?,?) ON CONFLICT (kind, id) DO NOTHING RETURNING kind, id),
	termed AS (INSERT INTO aas_terms (kind, name, value, id)
		SELECT made.kind, t.name, t.value, made.id FROM made, unnest(?::TEXT[], ?::TEXT[]) AS t(name, value)),
	counted AS (INSERT INTO aas_counts (kind, slot, documents, changes) SELECT made.kind, ?::BIGINT, 1, 1 FROM made
		ON CONFLICT (kind, slot) DO UPDATE SET documents = aas_counts.documents + 1, changes = aas_counts.changes + 1)
	SELECT COUNT(*) FROM made`

// writeSingle makes a change of the kind that [aasWriter.quick] makes. What it does not do, it leaves
// undone whole.
func (s *AASStore) writeSingle(ctx context.Context, c *aas.Change, facts []byte) (version uint64, done bool, err error) {
	d := &c.Document
	var made int64
	switch quickOf(c) {
	case quickUpdate:
		err = s.writing(ctx, func(ctx context.Context, conn *sql.Conn, state *set) error {
			r, err := conn.ExecContext(ctx, state.rebind(updateDocument), updateRow(c, facts)...)
			if err == nil {
				made, err = r.RowsAffected()
			}
			return err
		})
		version = c.Match.Version + 1
	case quickCreate:
		names, values := make([]string, len(d.Terms)), make([]string, len(d.Terms))
		for i, t := range d.Terms {
			names[i], values[i] = t.Name, keyOf(t.Value)
		}
		args := append(documentRow(c, facts), names, values, countSlot(d.ID))
		err = s.writing(ctx, func(ctx context.Context, conn *sql.Conn, state *set) error {
			return conn.QueryRowContext(ctx, state.rebind(createDocument), args...).Scan(&made)
		})
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

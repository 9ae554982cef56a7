package storage

import (
	"context"
	"database/sql"

	"github.com/otkit/otkit/aas"
)

// StatePool gives the connections that write state.
func (db *DB) StatePool() *sql.DB { return db.state.pools.Write }

// HistoryPool gives the connections that write history.
func (db *DB) HistoryPool() *sql.DB { return db.past.pools.Write }

// Remake makes the state tables as an earlier version had them.
func (db *DB) Remake(ctx context.Context, version int) error {
	steps, err := migrations(migrationFiles, "state")
	if err != nil {
		return err
	}
	return db.Update(ctx, "remake", func(ctx context.Context, tx *Tx) error { return tx.remake(ctx, steps[:version]) })
}

// Waiting gives the number of writes that wait for a group.
func (db *DB) Waiting() int { return len(db.state.group.queue) }

// TermsInOrder gives the terms of a query in the order in which they are looked for.
func (s *AASStore) TermsInOrder(ctx context.Context, q aas.Query) (terms []aas.Term, err error) {
	err = s.db.View(ctx, "aas.order", func(ctx context.Context, tx *Tx) error {
		f := finder{tx: tx, store: s, q: q}
		err := f.order(ctx)
		terms = f.terms
		return err
	})
	return terms, err
}

package storage

import (
	"context"
	"database/sql"
	"sync"
)

// statements keeps the prepared statements of one pool, since preparing most of them takes longer than running them.
type statements struct {
	pool *sql.DB

	mu     sync.RWMutex
	kept   map[string]*sql.Stmt
	wanted map[string]bool
}

// maxStatements bounds what is kept; the queries of the stores are few and constant.
const maxStatements = 300

func newStatements(pool *sql.DB) *statements {
	return &statements{pool: pool, kept: make(map[string]*sql.Stmt), wanted: make(map[string]bool)}
}

// in returns a statement for a transaction. One that is not kept yet is prepared for the transaction
// alone: the pool's only connection may be the one that the transaction has.
func (s *statements) in(ctx context.Context, tx *sql.Tx, query string) (*sql.Stmt, error) {
	s.mu.RLock()
	stmt := s.kept[query]
	s.mu.RUnlock()
	if stmt != nil {
		return tx.StmtContext(ctx, stmt), nil
	}
	s.mu.Lock()
	if len(s.kept)+len(s.wanted) < maxStatements {
		s.wanted[query] = true
	}
	s.mu.Unlock()
	return tx.PrepareContext(ctx, query)
}

// row runs a query without a transaction.
func (s *statements) row(ctx context.Context, query string, args []any) *sql.Row {
	s.mu.RLock()
	stmt := s.kept[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	s.mu.Lock()
	if len(s.kept)+len(s.wanted) < maxStatements {
		s.wanted[query] = true
	}
	s.mu.Unlock()
	s.learn(ctx)
	return s.pool.QueryRowContext(ctx, query, args...)
}

// learn prepares the statements that transactions have used. It is called when the caller's transaction has ended.
func (s *statements) learn(ctx context.Context) {
	s.mu.RLock()
	none := len(s.wanted) == 0
	s.mu.RUnlock()
	if none {
		return
	}
	s.mu.Lock()
	wanted := s.wanted
	s.wanted = make(map[string]bool)
	s.mu.Unlock()
	for query := range wanted {
		stmt, err := s.pool.PrepareContext(ctx, query) //nolint:sqlclosecheck // kept until close
		if err != nil {
			continue // it runs unprepared, and its next use asks again
		}
		s.mu.Lock()
		if s.kept[query] == nil {
			s.kept[query], stmt = stmt, nil
		}
		s.mu.Unlock()
		if stmt != nil {
			_ = stmt.Close()
		}
	}
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for query, stmt := range s.kept {
		_ = stmt.Close()
		delete(s.kept, query)
	}
}

package aasstore

import (
	"context"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

// TermsInOrder returns the terms of a query in the order in which they are looked for.
func (s *Store) TermsInOrder(ctx context.Context, q repository.Query) (terms []repository.Term, err error) {
	err = s.set.View(ctx, "aas.order", func(ctx context.Context, tx *storage.Tx) error {
		f := finder{tx: tx, store: s, q: q}
		err := f.order(ctx)
		terms = f.terms
		return err
	})
	return terms, err
}

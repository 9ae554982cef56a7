package v1

import (
	"context"
	"math"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// The limits of a page.
const (
	DefaultSize = 20
	MaxSize     = 100
)

// The bounds of the documents of one answer: of a page, which can be asked for with fewer of them, and of a list
// without pages.
const (
	maxPageBytes = 16 << 20
	maxBytes     = 64 << 20
)

// Find returns a page of documents. One above 16 MiB is [repository.ErrPageTooLarge].
func Find[T repository.Storable](ctx context.Context, r *repository.Repository[T], q repository.Query) (repository.Page, error) {
	q.MaxBytes = maxPageBytes
	p, err := r.Find(ctx, q)
	if err != nil {
		return repository.Page{}, err
	}
	return p, bounded(&p, q.Limit, "pageSize")
}

// Search is [Find] for the shells of a search.
func Search(ctx context.Context, s *repository.Service, q repository.Search) (repository.Page, error) {
	q.MaxBytes = maxPageBytes
	p, err := s.Search(ctx, q)
	if err != nil {
		return repository.Page{}, err
	}
	return p, bounded(&p, q.Limit, "maxResults")
}

// bounded refuses a page that ended for its bytes: pages are counted by number, so that what was omitted would
// be on no page. size is the parameter that makes a page smaller.
func bounded(p *repository.Page, limit int, size string) error {
	if n := len(p.Documents); p.More && n < limit {
		return repository.ErrPageTooLarge.Because("the first %d of its documents have more than %d bytes: use a %s of at most %d",
			n, maxPageBytes, size, max(n-1, 1))
	}
	return nil
}

// Window returns the query for a page that is counted from 1, the total included.
func Window(page, size int) (repository.Query, error) {
	var bad []fault.Field
	if page < 1 {
		bad = append(bad, fault.Field{Field: "page", Message: "must be at least 1"})
	}
	if size < 1 || size > MaxSize {
		bad = append(bad, fault.Field{Field: "pageSize", Message: "must be 1 to 100"})
	}
	if bad != nil {
		return repository.Query{}, aas.ErrInvalidRequest.Invalid(bad...)
	}
	// No store has as many documents as would be skipped at the most.
	return repository.Query{Offset: min(page-1, math.MaxInt32/size) * size, Limit: size, Count: true}, nil
}

// Results checks how many results of a search are wanted.
func Results(most int) error {
	if most < 1 || most > MaxSize {
		return aas.ErrInvalidRequest.Invalid(fault.Field{Field: "maxResults", Message: "must be 1 to 100"})
	}
	return nil
}

// Kind reads the filter for a kind of asset; empty is none.
func Kind(text string) (aas.AssetKind, error) {
	switch kind := aas.AssetKind(text); kind {
	case "", aas.Instance, aas.Type:
		return kind, nil
	}
	return "", aas.ErrInvalidRequest.Invalid(fault.Field{Field: "assetKind", Message: "must be Instance or Type"})
}

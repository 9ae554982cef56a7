package aasv1

import (
	"context"
	"math"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// The limits of a page.
const (
	DefaultSize = 20
	MaxSize     = 100
)

// maxBytes bounds the documents of one answer.
const maxBytes = 64 << 20

// Find gives a page of documents. One above 64 MiB is [aas.ErrPageTooLarge].
func Find[T aas.Kept](ctx context.Context, r *aas.Repository[T], q aas.Query) (aas.Page, error) {
	q.MaxBytes = maxBytes
	p, err := r.Find(ctx, q)
	if err != nil {
		return aas.Page{}, err
	}
	return p, bounded(&p, q.Limit)
}

// Search is [Find] for the shells of a search.
func Search(ctx context.Context, s *aas.Service, q aas.Search) (aas.Page, error) {
	q.MaxBytes = maxBytes
	p, err := s.Search(ctx, q)
	if err != nil {
		return aas.Page{}, err
	}
	return p, bounded(&p, q.Limit)
}

// bounded tells of a page that ended for its bytes.
func bounded(p *aas.Page, limit int) error {
	if p.More && len(p.Documents) < limit {
		return aas.ErrPageTooLarge.Because("%d documents of the page have %d bytes: ask for fewer at once, or read them one by one",
			len(p.Documents), maxBytes)
	}
	return nil
}

// Window gives the query for a page that is counted from 1, the total included.
func Window(page, size int) (aas.Query, error) {
	var bad []fault.Field
	if page < 1 {
		bad = append(bad, fault.Field{Field: "page", Message: "must be at least 1"})
	}
	if size < 1 || size > MaxSize {
		bad = append(bad, fault.Field{Field: "pageSize", Message: "must be 1 to 100"})
	}
	if bad != nil {
		return aas.Query{}, aas.ErrInvalidRequest.Invalid(bad...)
	}
	// No store has as many documents as would be skipped at the most.
	return aas.Query{Offset: min(page-1, math.MaxInt32/size) * size, Limit: size, Count: true}, nil
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

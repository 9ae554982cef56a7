package aasv1

import (
	"math"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// The limits of a page.
const (
	DefaultSize = 20
	MaxSize     = 100
)

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

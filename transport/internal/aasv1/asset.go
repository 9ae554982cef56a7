package aasv1

import (
	"context"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// ByAsset gives the shells of an asset by id.
func ByAsset(ctx context.Context, s *aas.Service, globalAssetID string) ([]aas.Document, error) {
	if globalAssetID == "" { // which Search would take for any
		return nil, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "globalAssetId", Message: "is required"})
	}
	var docs []aas.Document
	q := aas.Search{GlobalAssetID: globalAssetID, Limit: 500}
	for {
		page, err := s.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		docs = append(docs, page.Documents...)
		if !page.More || len(page.Documents) == 0 {
			return docs, nil
		}
		q.After = docs[len(docs)-1].ID
	}
}

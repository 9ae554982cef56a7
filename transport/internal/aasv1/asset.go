package aasv1

import (
	"context"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// ByAsset gives the shells of an asset by id. More than 64 MiB of them are [aas.ErrPageTooLarge].
func ByAsset(ctx context.Context, s *aas.Service, globalAssetID string) ([]aas.Document, error) {
	if globalAssetID == "" { // which Search would take for any
		return nil, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "globalAssetId", Message: "is required"})
	}
	var docs []aas.Document
	q, bytes := aas.Search{GlobalAssetID: globalAssetID, Limit: 500, MaxBytes: maxBytes}, 0
	for {
		page, err := s.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		docs = append(docs, page.Documents...)
		for i := range page.Documents {
			bytes += len(page.Documents[i].JSON)
		}
		if bytes > maxBytes {
			return nil, aas.ErrPageTooLarge.Because("the shells of the asset have more than %d bytes", maxBytes)
		}
		if !page.More || len(page.Documents) == 0 {
			return docs, nil
		}
		q.After = docs[len(docs)-1].ID
	}
}

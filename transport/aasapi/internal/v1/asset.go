package v1

import (
	"context"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// ByAsset returns the shells of an asset by id. More than 64 MiB of them are [repository.ErrPageTooLarge].
func ByAsset(ctx context.Context, s *repository.Service, globalAssetID string) ([]repository.Document, error) {
	if globalAssetID == "" { // which Search would take for any
		return nil, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "globalAssetId", Message: "is required"})
	}
	var docs []repository.Document
	q, bytes := repository.Search{GlobalAssetID: globalAssetID, Limit: 500, MaxBytes: maxBytes}, 0
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
			return nil, repository.ErrPageTooLarge.Because("the shells of the asset have more than %d bytes", maxBytes)
		}
		if !page.More || len(page.Documents) == 0 {
			return docs, nil
		}
		q.After = docs[len(docs)-1].ID
	}
}

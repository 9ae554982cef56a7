package aasv1

import (
	"context"
	"net/http"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/aasv1/internal/gen"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// ListConceptDescriptions implements GET /api/v1/concept-descriptions.
func (a *handlers) ListConceptDescriptions(ctx context.Context, r gen.ListConceptDescriptionsRequestObject) (gen.ListConceptDescriptionsResponseObject, error) {
	q, err := v1.Window(restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, v1.DefaultSize))
	if err != nil {
		return nil, err
	}
	q.Contains = r.Params.IDShort
	found, err := v1.Find(ctx, a.service.Concepts, q)
	return aasList{docs: found.Documents, total: found.Total, form: counted}, err
}

// CreateConceptDescription implements POST /api/v1/concept-descriptions.
func (a *handlers) CreateConceptDescription(ctx context.Context, r gen.CreateConceptDescriptionRequestObject) (gen.CreateConceptDescriptionResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	doc, err := a.service.Concepts.Create(ctx, r.Body)
	return aasDocument{status: http.StatusCreated, doc: doc, location: conceptsPath + segment(doc.ID)}, err
}

// GetConceptDescription implements GET /api/v1/concept-descriptions/{id}.
func (a *handlers) GetConceptDescription(ctx context.Context, r gen.GetConceptDescriptionRequestObject) (gen.GetConceptDescriptionResponseObject, error) {
	doc, err := a.service.Concepts.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateConceptDescription implements PUT /api/v1/concept-descriptions/{id}.
func (a *handlers) UpdateConceptDescription(ctx context.Context, r gen.UpdateConceptDescriptionRequestObject) (gen.UpdateConceptDescriptionResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	m, err := a.replacing(ctx, repository.KindConceptDescription, r.ID, &r.Body.ID, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.service.Concepts.Put(ctx, r.Body, m)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// DeleteConceptDescription implements DELETE /api/v1/concept-descriptions/{id}.
func (a *handlers) DeleteConceptDescription(ctx context.Context, r gen.DeleteConceptDescriptionRequestObject) (gen.DeleteConceptDescriptionResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, repository.KindConceptDescription, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.DeleteConceptDescription204Response{}, a.service.Concepts.Delete(ctx, r.ID, m)
}

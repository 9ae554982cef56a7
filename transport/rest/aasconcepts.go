package rest

import (
	"context"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/openapi/aasapi"
	"github.com/otkit/otkit/transport/internal/aasv1"
)

// ListConceptDescriptions implements GET /api/v1/concept-descriptions.
func (a *AAS) ListConceptDescriptions(ctx context.Context, r aasapi.ListConceptDescriptionsRequestObject) (aasapi.ListConceptDescriptionsResponseObject, error) {
	q, err := aasv1.Window(orDefault(r.Params.Page, 1), orDefault(r.Params.PageSize, aasv1.DefaultSize))
	if err != nil {
		return nil, err
	}
	q.Contains = r.Params.IDShort
	found, err := aasv1.Find(ctx, a.Service.Concepts, q)
	return aasList{docs: found.Documents, total: found.Total, form: counted}, err
}

// CreateConceptDescription implements POST /api/v1/concept-descriptions.
func (a *AAS) CreateConceptDescription(ctx context.Context, r aasapi.CreateConceptDescriptionRequestObject) (aasapi.CreateConceptDescriptionResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	doc, err := a.Service.Concepts.Create(ctx, r.Body)
	return aasDocument{status: http.StatusCreated, doc: doc, location: conceptsPath + segment(doc.ID)}, err
}

// GetConceptDescription implements GET /api/v1/concept-descriptions/{id}.
func (a *AAS) GetConceptDescription(ctx context.Context, r aasapi.GetConceptDescriptionRequestObject) (aasapi.GetConceptDescriptionResponseObject, error) {
	doc, err := a.Service.Concepts.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateConceptDescription implements PUT /api/v1/concept-descriptions/{id}.
func (a *AAS) UpdateConceptDescription(ctx context.Context, r aasapi.UpdateConceptDescriptionRequestObject) (aasapi.UpdateConceptDescriptionResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	m, err := a.replacing(ctx, aas.KindConceptDescription, r.ID, &r.Body.ID, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.Service.Concepts.Put(ctx, r.Body, m)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// DeleteConceptDescription implements DELETE /api/v1/concept-descriptions/{id}.
func (a *AAS) DeleteConceptDescription(ctx context.Context, r aasapi.DeleteConceptDescriptionRequestObject) (aasapi.DeleteConceptDescriptionResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, aas.KindConceptDescription, r.ID)
	if err != nil {
		return nil, err
	}
	return aasapi.DeleteConceptDescription204Response{}, a.Service.Concepts.Delete(ctx, r.ID, m)
}

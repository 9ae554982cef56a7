package aasv1

import (
	"context"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/aasv1/internal/gen"
	v1 "github.com/otkit/otkit/transport/aasapi/internal/v1"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// ListSubmodels implements GET /api/v1/submodels.
func (a *handlers) ListSubmodels(ctx context.Context, r gen.ListSubmodelsRequestObject) (gen.ListSubmodelsResponseObject, error) {
	page, size := restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, v1.DefaultSize)
	q, err := v1.Window(page, size)
	if err != nil {
		return nil, err
	}
	found, err := v1.Find(ctx, a.service.Submodels, q)
	return aasList{docs: found.Documents, total: found.Total, page: page, size: size, form: paged}, err
}

// CreateSubmodel implements POST /api/v1/submodels.
func (a *handlers) CreateSubmodel(ctx context.Context, r gen.CreateSubmodelRequestObject) (gen.CreateSubmodelResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	doc, err := a.service.Submodels.Create(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	doc, err = a.withValues(ctx, doc)
	return aasDocument{status: http.StatusCreated, doc: doc, location: submodelPath + segment(doc.ID)}, err
}

// GetSubmodel implements GET /api/v1/submodels/{id}.
func (a *handlers) GetSubmodel(ctx context.Context, r gen.GetSubmodelRequestObject) (gen.GetSubmodelResponseObject, error) {
	doc, err := a.service.Submodels.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateSubmodel implements PUT /api/v1/submodels/{id}.
func (a *handlers) UpdateSubmodel(ctx context.Context, r gen.UpdateSubmodelRequestObject) (gen.UpdateSubmodelResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	m, err := a.replacing(ctx, repository.KindSubmodel, r.ID, &r.Body.ID, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.service.Submodels.Put(ctx, r.Body, m)
	if err != nil {
		return nil, err
	}
	doc, err = a.withValues(ctx, doc)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// withValues fills live values into a submodel that was kept just now.
func (a *handlers) withValues(ctx context.Context, kept repository.Document) (repository.Document, error) {
	if !kept.Live {
		return kept, nil
	}
	list, err := a.service.Submodels.Documents(ctx, kept.ID)
	if err != nil || len(list) == 0 { // it may be gone again
		return kept, err
	}
	return list[0], nil
}

// replacing returns the condition for a body that replaces the document of the path, and
// completes its id.
func (a *handlers) replacing(ctx context.Context, kind repository.Kind, id string, bodyID *string, condition string) (repository.Match, error) {
	m, err := a.ifMatch(ctx, condition, kind, id)
	m.Exists = true
	if err != nil {
		return m, err
	}
	return m, v1.SameID(bodyID, id)
}

// DeleteSubmodel implements DELETE /api/v1/submodels/{id}.
func (a *handlers) DeleteSubmodel(ctx context.Context, r gen.DeleteSubmodelRequestObject) (gen.DeleteSubmodelResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, repository.KindSubmodel, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.DeleteSubmodel204Response{}, a.service.Submodels.Delete(ctx, r.ID, m)
}

// GetElementValue implements GET /api/v1/submodels/{id}/submodel-elements/{idShortPath}/value.
func (a *handlers) GetElementValue(ctx context.Context, r gen.GetElementValueRequestObject) (gen.GetElementValueResponseObject, error) {
	path, err := elementPath(r.IDShortPath)
	if err != nil {
		return nil, err
	}
	element, version, err := a.service.Element(ctx, r.ID, path)
	if err != nil {
		return nil, err
	}
	return elementValue{version, aas.AppendElementValue(nil, element, aas.View{Extent: aas.WithBlobValue})}, nil
}

// SetElementValue implements PUT /api/v1/submodels/{id}/submodel-elements/{idShortPath}/value.
func (a *handlers) SetElementValue(ctx context.Context, r gen.SetElementValueRequestObject) (gen.SetElementValueResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	m, err := a.ifMatch(ctx, r.Params.IfMatch, repository.KindSubmodel, r.ID)
	if err != nil {
		return nil, err
	}
	path, err := elementPath(r.IDShortPath)
	if err != nil {
		return nil, err
	}
	version, err := a.service.SetValue(ctx, r.ID, path, *r.Body, m)
	return elementValueSet(version), err
}

// elementPath reads an idShortPath; what cannot be one names no element.
func elementPath(text string) (aas.Path, error) {
	path, err := aas.ParsePath(text)
	if err != nil {
		return path, aas.ErrElementNotFound.On("idShortPath", text)
	}
	return path, nil
}

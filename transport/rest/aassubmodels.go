package rest

import (
	"context"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/openapi/aasapi"
	"github.com/otkit/otkit/transport/internal/aasv1"
)

// ListSubmodels implements GET /api/v1/submodels.
func (a *AAS) ListSubmodels(ctx context.Context, r aasapi.ListSubmodelsRequestObject) (aasapi.ListSubmodelsResponseObject, error) {
	page, size := orDefault(r.Params.Page, 1), orDefault(r.Params.PageSize, aasv1.DefaultSize)
	q, err := aasv1.Window(page, size)
	if err != nil {
		return nil, err
	}
	found, err := aasv1.Find(ctx, a.Service.Submodels, q)
	return aasList{docs: found.Documents, total: found.Total, page: page, size: size, form: paged}, err
}

// CreateSubmodel implements POST /api/v1/submodels.
func (a *AAS) CreateSubmodel(ctx context.Context, r aasapi.CreateSubmodelRequestObject) (aasapi.CreateSubmodelResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	doc, err := a.Service.Submodels.Create(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	doc, err = a.withValues(ctx, doc)
	return aasDocument{status: http.StatusCreated, doc: doc, location: submodelPath + segment(doc.ID)}, err
}

// GetSubmodel implements GET /api/v1/submodels/{id}.
func (a *AAS) GetSubmodel(ctx context.Context, r aasapi.GetSubmodelRequestObject) (aasapi.GetSubmodelResponseObject, error) {
	doc, err := a.Service.Submodels.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateSubmodel implements PUT /api/v1/submodels/{id}.
func (a *AAS) UpdateSubmodel(ctx context.Context, r aasapi.UpdateSubmodelRequestObject) (aasapi.UpdateSubmodelResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	m, err := a.replacing(ctx, aas.KindSubmodel, r.ID, &r.Body.ID, r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.Service.Submodels.Put(ctx, r.Body, m)
	if err != nil {
		return nil, err
	}
	doc, err = a.withValues(ctx, doc)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// withValues fills live values into a submodel that was kept just now.
func (a *AAS) withValues(ctx context.Context, kept aas.Document) (aas.Document, error) {
	if !kept.Live {
		return kept, nil
	}
	list, err := a.Service.Submodels.Documents(ctx, kept.ID)
	if err != nil || len(list) == 0 { // it may be gone again
		return kept, err
	}
	return list[0], nil
}

// replacing gives the condition for a body that takes the place of the document of the path, and
// completes its id.
func (a *AAS) replacing(ctx context.Context, kind aas.Kind, id string, bodyID *string, condition string) (aas.Match, error) {
	m, err := a.ifMatch(ctx, condition, kind, id)
	m.Exists = true
	if err != nil {
		return m, err
	}
	return m, aasv1.SameID(bodyID, id)
}

// DeleteSubmodel implements DELETE /api/v1/submodels/{id}.
func (a *AAS) DeleteSubmodel(ctx context.Context, r aasapi.DeleteSubmodelRequestObject) (aasapi.DeleteSubmodelResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, aas.KindSubmodel, r.ID)
	if err != nil {
		return nil, err
	}
	return aasapi.DeleteSubmodel204Response{}, a.Service.Submodels.Delete(ctx, r.ID, m)
}

// GetElementValue implements GET /api/v1/submodels/{id}/submodel-elements/{idShortPath}/value.
func (a *AAS) GetElementValue(ctx context.Context, r aasapi.GetElementValueRequestObject) (aasapi.GetElementValueResponseObject, error) {
	path, err := elementPath(r.IDShortPath)
	if err != nil {
		return nil, err
	}
	element, version, err := a.Service.Element(ctx, r.ID, path)
	if err != nil {
		return nil, err
	}
	return elementValue{version, aas.AppendElementValue(nil, element, aas.View{Extent: aas.WithBlobValue})}, nil
}

// SetElementValue implements PUT /api/v1/submodels/{id}/submodel-elements/{idShortPath}/value.
func (a *AAS) SetElementValue(ctx context.Context, r aasapi.SetElementValueRequestObject) (aasapi.SetElementValueResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	m, err := a.ifMatch(ctx, r.Params.IfMatch, aas.KindSubmodel, r.ID)
	if err != nil {
		return nil, err
	}
	path, err := elementPath(r.IDShortPath)
	if err != nil {
		return nil, err
	}
	version, err := a.Service.SetValue(ctx, r.ID, path, *r.Body, m)
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

package rest

import (
	"context"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/openapi/aasapi"
	"github.com/otkit/otkit/transport/internal/aasv1"
)

// AAS serves shells, submodels and concept descriptions, version 1 of the interface.
type AAS struct {
	Service *aas.Service
}

var _ aasapi.StrictServerInterface = (*AAS)(nil)

const (
	shellsPath   = "/api/v1/aas/"
	submodelPath = "/api/v1/submodels/"
	conceptsPath = "/api/v1/concept-descriptions/"
)

// ListShells implements GET /api/v1/aas.
func (a *AAS) ListShells(ctx context.Context, r aasapi.ListShellsRequestObject) (aasapi.ListShellsResponseObject, error) {
	kind, err := kindOf(r.Params.AssetKind)
	if err != nil {
		return nil, err
	}
	page, size := orDefault(r.Params.Page, 1), orDefault(r.Params.PageSize, aasv1.DefaultSize)
	q, err := aasv1.Window(page, size)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		q.Terms = []aas.Term{aas.KindTerm(kind)}
	}
	found, err := aasv1.Find(ctx, a.Service.Shells, q)
	return aasList{docs: found.Documents, total: found.Total, page: page, size: size, form: paged}, err
}

// CreateShell implements POST /api/v1/aas.
func (a *AAS) CreateShell(ctx context.Context, r aasapi.CreateShellRequestObject) (aasapi.CreateShellResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	if err := aasv1.Complete(r.Body); err != nil {
		return nil, err
	}
	doc, err := a.Service.Shells.Create(ctx, r.Body)
	return aasDocument{status: http.StatusCreated, doc: doc, location: shellsPath + segment(doc.ID)}, err
}

// GetShell implements GET /api/v1/aas/{id}.
func (a *AAS) GetShell(ctx context.Context, r aasapi.GetShellRequestObject) (aasapi.GetShellResponseObject, error) {
	doc, err := a.Service.Shells.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateShell implements PUT /api/v1/aas/{id}.
func (a *AAS) UpdateShell(ctx context.Context, r aasapi.UpdateShellRequestObject) (aasapi.UpdateShellResponseObject, error) {
	if r.Body == nil {
		return nil, required("body")
	}
	m, err := a.ifMatch(ctx, r.Params.IfMatch, aas.KindShell, r.ID)
	if err != nil {
		return nil, err
	}
	shell, update, err := aasv1.ParseUpdate(*r.Body)
	if err != nil {
		return nil, err
	}
	if err := aasv1.SameID(&shell.ID, r.ID); err != nil {
		return nil, err
	}
	if err := aasv1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := a.Service.Shells.Update(ctx, r.ID, m, update.Apply)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// DeleteShell implements DELETE /api/v1/aas/{id}.
func (a *AAS) DeleteShell(ctx context.Context, r aasapi.DeleteShellRequestObject) (aasapi.DeleteShellResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, aas.KindShell, r.ID)
	if err != nil {
		return nil, err
	}
	return aasapi.DeleteShell204Response{}, a.Service.Shells.Delete(ctx, r.ID, m)
}

// ListShellSubmodels implements GET /api/v1/aas/{id}/submodels.
func (a *AAS) ListShellSubmodels(ctx context.Context, r aasapi.ListShellSubmodelsRequestObject) (aasapi.ListShellSubmodelsResponseObject, error) {
	list, err := a.Service.SubmodelsOf(ctx, r.ID)
	return shellSubmodels(list), err
}

// FindShellsByAsset implements GET /api/v1/aas-registry/by-asset/{globalAssetId}.
func (a *AAS) FindShellsByAsset(ctx context.Context, r aasapi.FindShellsByAssetRequestObject) (aasapi.FindShellsByAssetResponseObject, error) {
	docs, err := aasv1.ByAsset(ctx, a.Service, r.GlobalAssetID)
	return aasList{docs: docs, form: itemsOnly}, err
}

// SearchShells implements GET /api/v1/aas-registry/search.
func (a *AAS) SearchShells(ctx context.Context, r aasapi.SearchShellsRequestObject) (aasapi.SearchShellsResponseObject, error) {
	kind, err := kindOf(r.Params.AssetKind)
	if err != nil {
		return nil, err
	}
	most := orDefault(r.Params.MaxResults, aasv1.DefaultSize)
	if err := aasv1.Results(most); err != nil {
		return nil, err
	}
	found, err := aasv1.Search(ctx, a.Service, aas.Search{IDShort: r.Params.IDShort, AssetKind: kind, SubmodelType: r.Params.SubmodelType, Limit: most})
	return aasList{docs: found.Documents, total: found.Total, form: counted}, err
}

func kindOf[T ~string](given *T) (aas.AssetKind, error) {
	if given == nil {
		return "", nil
	}
	return aasv1.Kind(string(*given))
}

func orDefault(given *int, otherwise int) int {
	if given == nil {
		return otherwise
	}
	return *given
}

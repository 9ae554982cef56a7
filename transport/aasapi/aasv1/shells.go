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

var _ gen.StrictServerInterface = (*handlers)(nil)

const (
	shellsPath   = "/api/v1/aas/"
	submodelPath = "/api/v1/submodels/"
	conceptsPath = "/api/v1/concept-descriptions/"
)

// ListShells implements GET /api/v1/aas.
func (a *handlers) ListShells(ctx context.Context, r gen.ListShellsRequestObject) (gen.ListShellsResponseObject, error) {
	kind, err := kindOf(r.Params.AssetKind)
	if err != nil {
		return nil, err
	}
	page, size := restapi.Or(r.Params.Page, 1), restapi.Or(r.Params.PageSize, v1.DefaultSize)
	q, err := v1.Window(page, size)
	if err != nil {
		return nil, err
	}
	if kind != "" {
		q.Terms = []repository.Term{repository.KindTerm(kind)}
	}
	found, err := v1.Find(ctx, a.service.Shells, q)
	return aasList{docs: found.Documents, total: found.Total, page: page, size: size, form: paged}, err
}

// CreateShell implements POST /api/v1/aas.
func (a *handlers) CreateShell(ctx context.Context, r gen.CreateShellRequestObject) (gen.CreateShellResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	if err := v1.Complete(r.Body); err != nil {
		return nil, err
	}
	doc, err := a.service.Shells.Create(ctx, r.Body)
	return aasDocument{status: http.StatusCreated, doc: doc, location: shellsPath + segment(doc.ID)}, err
}

// GetShell implements GET /api/v1/aas/{id}.
func (a *handlers) GetShell(ctx context.Context, r gen.GetShellRequestObject) (gen.GetShellResponseObject, error) {
	doc, err := a.service.Shells.Document(ctx, r.ID)
	return aasDocument{status: http.StatusOK, doc: doc, known: r.Params.IfNoneMatch}, err
}

// UpdateShell implements PUT /api/v1/aas/{id}.
func (a *handlers) UpdateShell(ctx context.Context, r gen.UpdateShellRequestObject) (gen.UpdateShellResponseObject, error) {
	if r.Body == nil {
		return nil, restapi.Required("body")
	}
	m, err := a.ifMatch(ctx, r.Params.IfMatch, repository.KindShell, r.ID)
	if err != nil {
		return nil, err
	}
	shell, update, err := v1.ParseUpdate(*r.Body)
	if err != nil {
		return nil, err
	}
	if err := v1.SameID(&shell.ID, r.ID); err != nil {
		return nil, err
	}
	if err := v1.Complete(shell); err != nil {
		return nil, err
	}
	doc, err := a.service.Shells.Update(ctx, r.ID, m, update.Apply)
	return aasDocument{status: http.StatusOK, doc: doc}, err
}

// DeleteShell implements DELETE /api/v1/aas/{id}.
func (a *handlers) DeleteShell(ctx context.Context, r gen.DeleteShellRequestObject) (gen.DeleteShellResponseObject, error) {
	m, err := a.ifMatch(ctx, r.Params.IfMatch, repository.KindShell, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.DeleteShell204Response{}, a.service.Shells.Delete(ctx, r.ID, m)
}

// ListShellSubmodels implements GET /api/v1/aas/{id}/submodels.
func (a *handlers) ListShellSubmodels(ctx context.Context, r gen.ListShellSubmodelsRequestObject) (gen.ListShellSubmodelsResponseObject, error) {
	list, err := a.service.SubmodelsOf(ctx, r.ID)
	return shellSubmodels(list), err
}

// FindShellsByAsset implements GET /api/v1/aas-registry/by-asset/{globalAssetId}.
func (a *handlers) FindShellsByAsset(ctx context.Context, r gen.FindShellsByAssetRequestObject) (gen.FindShellsByAssetResponseObject, error) {
	docs, err := v1.ByAsset(ctx, a.service, r.GlobalAssetID)
	return aasList{docs: docs, form: itemsOnly}, err
}

// SearchShells implements GET /api/v1/aas-registry/search.
func (a *handlers) SearchShells(ctx context.Context, r gen.SearchShellsRequestObject) (gen.SearchShellsResponseObject, error) {
	kind, err := kindOf(r.Params.AssetKind)
	if err != nil {
		return nil, err
	}
	most := restapi.Or(r.Params.MaxResults, v1.DefaultSize)
	if err := v1.Results(most); err != nil {
		return nil, err
	}
	found, err := v1.Search(ctx, a.service, repository.Search{IDShort: r.Params.IDShort, AssetKind: kind, SubmodelType: r.Params.SubmodelType, Limit: most})
	return aasList{docs: found.Documents, total: found.Total, form: counted}, err
}

func kindOf[T ~string](given *T) (aas.AssetKind, error) {
	if given == nil {
		return "", nil
	}
	return v1.Kind(string(*given))
}

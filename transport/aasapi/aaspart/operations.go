package aaspart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part.
func Operations() []auth.Operation {
	const (
		shells     = "/api/v1/aas"
		registry   = "/api/v1/aas-registry"
		concepts   = "/api/v1/concept-descriptions"
		submodels  = "/api/v1/submodels"
		value      = submodels + "/{id}/submodel-elements/{idShortPath}/value"
		repository = "/platform.v1.AasRepositoryApi/"
		finder     = "/platform.v1.AasRegistryApi/"
	)
	return []auth.Operation{
		{ID: "listShells", Method: http.MethodGet, Path: shells, GRPC: []string{repository + "GetAllShells"}, Access: auth.Viewer, Gzip: true},
		{ID: "createShell", Method: http.MethodPost, Path: shells, GRPC: []string{repository + "CreateShell"}, Access: auth.Admin},
		{ID: "getShell", Method: http.MethodGet, Path: shells + "/{id}", GRPC: []string{repository + "GetShell"}, Access: auth.Viewer},
		{ID: "updateShell", Method: http.MethodPut, Path: shells + "/{id}", GRPC: []string{repository + "UpdateShell"}, Access: auth.Admin},
		{ID: "deleteShell", Method: http.MethodDelete, Path: shells + "/{id}", GRPC: []string{repository + "DeleteShell"}, Access: auth.Admin},
		{ID: "listShellSubmodels", Method: http.MethodGet, Path: shells + "/{id}/submodels", GRPC: []string{repository + "GetSubmodels"}, Access: auth.Viewer, Gzip: true},
		{ID: "findShellsByAsset", Method: http.MethodGet, Path: registry + "/by-asset/{globalAssetId}", GRPC: []string{finder + "GetByAssetId"}, Access: auth.Viewer, Gzip: true},
		{ID: "searchShells", Method: http.MethodGet, Path: registry + "/search", GRPC: []string{finder + "Search"}, Access: auth.Viewer, Gzip: true},
		{ID: "listConceptDescriptions", Method: http.MethodGet, Path: concepts, Access: auth.Viewer, Gzip: true},
		{ID: "createConceptDescription", Method: http.MethodPost, Path: concepts, Access: auth.Admin},
		{ID: "getConceptDescription", Method: http.MethodGet, Path: concepts + "/{id}", Access: auth.Viewer},
		{ID: "updateConceptDescription", Method: http.MethodPut, Path: concepts + "/{id}", Access: auth.Admin},
		{ID: "deleteConceptDescription", Method: http.MethodDelete, Path: concepts + "/{id}", Access: auth.Admin},
		{ID: "listSubmodels", Method: http.MethodGet, Path: submodels, Access: auth.Viewer, Gzip: true},
		{ID: "createSubmodel", Method: http.MethodPost, Path: submodels, Access: auth.Admin},
		{ID: "getSubmodel", Method: http.MethodGet, Path: submodels + "/{id}", GRPC: []string{repository + "GetSubmodel"}, Access: auth.Viewer},
		{ID: "updateSubmodel", Method: http.MethodPut, Path: submodels + "/{id}", Access: auth.Admin},
		{ID: "deleteSubmodel", Method: http.MethodDelete, Path: submodels + "/{id}", Access: auth.Admin},
		{ID: "streamSubmodelValues", Method: http.MethodGet, Path: submodels + "/{id}/values/stream", Access: auth.Viewer, QueryToken: true, Stream: true, Gzip: true},
		{ID: "getElementValue", Method: http.MethodGet, Path: value, Access: auth.Viewer},
		{ID: "setElementValue", Method: http.MethodPut, Path: value, Access: auth.Admin},
	}
}

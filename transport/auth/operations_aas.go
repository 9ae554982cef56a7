package auth

import "net/http"

func aasOperations() []Operation {
	const (
		shells     = "/api/v1/aas"
		registry   = "/api/v1/aas-registry"
		concepts   = "/api/v1/concept-descriptions"
		submodels  = "/api/v1/submodels"
		value      = submodels + "/{id}/submodel-elements/{idShortPath}/value"
		repository = "/platform.v1.AasRepositoryApi/"
		finder     = "/platform.v1.AasRegistryApi/"
	)
	return []Operation{
		{ID: "listShells", Method: http.MethodGet, Path: shells, GRPC: []string{repository + "GetAllShells"}, Access: Viewer},
		{ID: "createShell", Method: http.MethodPost, Path: shells, GRPC: []string{repository + "CreateShell"}, Access: Admin},
		{ID: "getShell", Method: http.MethodGet, Path: shells + "/{id}", GRPC: []string{repository + "GetShell"}, Access: Viewer},
		{ID: "updateShell", Method: http.MethodPut, Path: shells + "/{id}", GRPC: []string{repository + "UpdateShell"}, Access: Admin},
		{ID: "deleteShell", Method: http.MethodDelete, Path: shells + "/{id}", GRPC: []string{repository + "DeleteShell"}, Access: Admin},
		{ID: "listShellSubmodels", Method: http.MethodGet, Path: shells + "/{id}/submodels", GRPC: []string{repository + "GetSubmodels"}, Access: Viewer},
		{ID: "findShellsByAsset", Method: http.MethodGet, Path: registry + "/by-asset/{globalAssetId}", GRPC: []string{finder + "GetByAssetId"}, Access: Viewer},
		{ID: "searchShells", Method: http.MethodGet, Path: registry + "/search", GRPC: []string{finder + "Search"}, Access: Viewer},
		{ID: "listConceptDescriptions", Method: http.MethodGet, Path: concepts, Access: Viewer},
		{ID: "createConceptDescription", Method: http.MethodPost, Path: concepts, Access: Admin},
		{ID: "getConceptDescription", Method: http.MethodGet, Path: concepts + "/{id}", Access: Viewer},
		{ID: "updateConceptDescription", Method: http.MethodPut, Path: concepts + "/{id}", Access: Admin},
		{ID: "deleteConceptDescription", Method: http.MethodDelete, Path: concepts + "/{id}", Access: Admin},
		{ID: "listSubmodels", Method: http.MethodGet, Path: submodels, Access: Viewer},
		{ID: "createSubmodel", Method: http.MethodPost, Path: submodels, Access: Admin},
		{ID: "getSubmodel", Method: http.MethodGet, Path: submodels + "/{id}", GRPC: []string{repository + "GetSubmodel"}, Access: Viewer},
		{ID: "updateSubmodel", Method: http.MethodPut, Path: submodels + "/{id}", Access: Admin},
		{ID: "deleteSubmodel", Method: http.MethodDelete, Path: submodels + "/{id}", Access: Admin},
		{ID: "getElementValue", Method: http.MethodGet, Path: value, Access: Viewer},
		{ID: "setElementValue", Method: http.MethodPut, Path: value, Access: Admin},
	}
}

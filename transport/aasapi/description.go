package aasapi

import (
	"net/http"
)

// profiles are those of the standard that are served whole.
var profiles = []string{
	"https://admin-shell.io/aas/API/3/1/AssetAdministrationShellRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/AssetAdministrationShellRepositoryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/1/SubmodelRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/SubmodelRepositoryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/1/ConceptDescriptionRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/AssetAdministrationShellRegistryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/AssetAdministrationShellRegistryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/1/AssetAdministrationShellRegistryServiceSpecification/SSP-003",
	"https://admin-shell.io/aas/API/3/1/SubmodelRegistryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/SubmodelRegistryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/1/SubmodelRegistryServiceSpecification/SSP-003",
	"https://admin-shell.io/aas/API/3/1/DiscoveryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/1/AasxFileServerServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/AssetAdministrationShellRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/AssetAdministrationShellRepositoryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/0/SubmodelRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/SubmodelRepositoryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/0/ConceptDescriptionRepositoryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/AssetAdministrationShellRegistryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/AssetAdministrationShellRegistryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/0/SubmodelRegistryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/SubmodelRegistryServiceSpecification/SSP-002",
	"https://admin-shell.io/aas/API/3/0/DiscoveryServiceSpecification/SSP-001",
	"https://admin-shell.io/aas/API/3/0/AasxFileServerServiceSpecification/SSP-001",
}

func describe(c *call) error {
	body := append([]byte(`{"profiles":`), appendStrings(nil, profiles)...)
	return c.json(http.StatusOK, append(body, '}'))
}

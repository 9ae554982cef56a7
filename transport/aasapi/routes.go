package aasapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	auth "github.com/otkit/otkit/transport/auth/operation"
	"github.com/otkit/otkit/transport/problem"
)

// operation is one row of the table of what is served. IDs and patterns are those of the official
// document, as far as its ids are regular.
type operation struct {
	id      string
	method  string
	pattern string
	access  auth.Access
	handle  handler
}

const (
	get    = http.MethodGet
	put    = http.MethodPut
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

const (
	aShell     = "/shells/{aasIdentifier}"
	aSubmodel  = "/submodels/{submodelIdentifier}"
	elements   = "/submodel-elements"
	anElement  = elements + "/{idShortPath}"
	aConcept   = "/concept-descriptions/{cdIdentifier}"
	shellDesc  = "/shell-descriptors/{aasIdentifier}"
	nestedDesc = shellDesc + "/submodel-descriptors"
	modelDesc  = "/submodel-descriptors/{submodelIdentifier}"
)

// Operations lists what is served, with paths below a prefix and the access that each needs: Viewer
// to read, Operator to invoke, Admin to write, and none for the self-description.
func Operations() []auth.Operation {
	table := operations()
	list := make([]auth.Operation, len(table))
	for i, op := range table {
		list[i] = op.row()
	}
	return list
}

func (op operation) row() auth.Operation {
	row := auth.Operation{ID: op.id, Method: op.method, Path: op.pattern, Access: op.access}
	if op.access == auth.Viewer && op.method != get {
		row.Unaudited = "reads only, or is not served"
	}
	return row
}

func operations() []operation {
	return slices.Concat(shellOperations(), shellListOperations(),
		submodelListOperations(),
		treeOperations(aSubmodel, ""), treeOperations(aShell+aSubmodel, "_AasRepository"),
		conceptOperations(), registryOperations(), bulkOperations(), packageOperations(), discoveryOperations(), generalOperations(), leftOut())
}

func shellListOperations() []operation {
	return []operation{
		{"GetAllAssetAdministrationShells", get, "/shells", auth.Viewer, listShells},
		{"PostAssetAdministrationShell", post, "/shells", auth.Admin, shells.post},
		{"GetAllAssetAdministrationShells-Reference", get, "/shells/$reference", auth.Viewer, listShellReferences},
	}
}

func shellOperations() []operation {
	const (
		info = aShell + "/asset-information"
		refs = aShell + "/submodel-refs"
	)
	return []operation{
		{"GetAssetAdministrationShellById", get, aShell, auth.Viewer, shells.get},
		{"PutAssetAdministrationShellById", put, aShell, auth.Admin, shells.put},
		{"DeleteAssetAdministrationShellById", remove, aShell, auth.Admin, shells.delete},
		{"GetAssetAdministrationShellById-Reference_AasRepository", get, aShell + "/$reference", auth.Viewer, getShellReference},
		{"GetAssetInformation_AasRepository", get, info, auth.Viewer, getAssetInformation},
		{"PutAssetInformation_AasRepository", put, info, auth.Admin, putAssetInformation},
		{"GetThumbnail_AasRepository", get, info + "/thumbnail", auth.Viewer, getThumbnail},
		{"PutThumbnail_AasRepository", put, info + "/thumbnail", auth.Admin, putThumbnail},
		{"DeleteThumbnail_AasRepository", remove, info + "/thumbnail", auth.Admin, deleteThumbnail},
		{"GetAllSubmodelReferences_AasRepository", get, refs, auth.Viewer, listSubmodelRefs},
		{"PostSubmodelReference_AasRepository", post, refs, auth.Admin, postSubmodelRef},
		{"DeleteSubmodelReference_AasRepository", remove, refs + "/{submodelIdentifier}", auth.Admin, deleteSubmodelRef},
	}
}

func submodelListOperations() []operation {
	return []operation{
		{"GetAllSubmodels", get, "/submodels", auth.Viewer, listSubmodels(normalContent)},
		{"PostSubmodel", post, "/submodels", auth.Admin, submodels.post},
		{"GetAllSubmodels-Metadata", get, "/submodels/$metadata", auth.Viewer, listSubmodels(metadataContent)},
		{"GetAllSubmodels-ValueOnly", get, "/submodels/$value", auth.Viewer, listSubmodels(valueContent)},
		{"GetAllSubmodels-Reference", get, "/submodels/$reference", auth.Viewer, listSubmodels(referenceContent)},
		{"GetAllSubmodels-Path", get, "/submodels/$path", auth.Viewer, listSubmodels(pathContent)},
	}
}

// treeOperations are those on one submodel and its elements, which are served twice: in the submodel
// repository and below the shells that refer to the submodel.
func treeOperations(base, suffix string) []operation {
	whole := []operation{
		{"GetSubmodelById", get, "", auth.Viewer, getSubmodel(normalContent)},
		{"PutSubmodelById", put, "", auth.Admin, putSubmodel},
		{"PatchSubmodelById", patch, "", auth.Admin, patchSubmodel},
		{"DeleteSubmodelById", remove, "", auth.Admin, deleteSubmodel},
		{"GetSubmodelById-Metadata", get, "/$metadata", auth.Viewer, getSubmodel(metadataContent)},
		{"PatchSubmodelById-Metadata", patch, "/$metadata", auth.Admin, patchSubmodelMetadata},
		{"GetSubmodelById-ValueOnly", get, "/$value", auth.Viewer, getSubmodel(valueContent)},
		{"PatchSubmodelById-ValueOnly", patch, "/$value", auth.Admin, patchSubmodelValue},
		{"GetSubmodelById-Reference", get, "/$reference", auth.Viewer, getSubmodel(referenceContent)},
		{"GetSubmodelById-Path", get, "/$path", auth.Viewer, getSubmodel(pathContent)},
		{"GetAllSubmodelElements", get, elements, auth.Viewer, listElements(normalContent)},
		{"PostSubmodelElement", post, elements, auth.Admin, postElement},
		{"GetAllSubmodelElements-Metadata", get, elements + "/$metadata", auth.Viewer, listElements(metadataContent)},
		{"GetAllSubmodelElements-ValueOnly", get, elements + "/$value", auth.Viewer, listElements(valueContent)},
		{"GetAllSubmodelElements-Reference", get, elements + "/$reference", auth.Viewer, listElements(referenceContent)},
		{"GetAllSubmodelElements-Path", get, elements + "/$path", auth.Viewer, listElements(pathContent)},
	}
	all := slices.Concat(whole, elementOperations())
	for i := range all {
		all[i].id += suffix
		all[i].pattern = base + all[i].pattern
	}
	return all
}

func elementOperations() []operation {
	const (
		attachment = anElement + "/attachment"
		invoke     = anElement + "/invoke"
		async      = anElement + "/invoke-async"
		status     = anElement + "/operation-status/{handleId}"
		results    = anElement + "/operation-results/{handleId}"
	)
	return []operation{
		{"GetSubmodelElementByPath", get, anElement, auth.Viewer, getElement(normalContent)},
		{"PostSubmodelElementByPath", post, anElement, auth.Admin, postElement},
		{"PutSubmodelElementByPath", put, anElement, auth.Admin, putElement},
		{"PatchSubmodelElementByPath", patch, anElement, auth.Admin, patchElement},
		{"DeleteSubmodelElementByPath", remove, anElement, auth.Admin, deleteElement},
		{"GetSubmodelElementByPath-Metadata", get, anElement + "/$metadata", auth.Viewer, getElement(metadataContent)},
		{"PatchSubmodelElementByPath-Metadata", patch, anElement + "/$metadata", auth.Admin, patchElementMetadata},
		{"GetSubmodelElementByPath-ValueOnly", get, anElement + "/$value", auth.Viewer, getElement(valueContent)},
		{"PatchSubmodelElementByPath-ValueOnly", patch, anElement + "/$value", auth.Admin, patchElementValue},
		{"GetSubmodelElementByPath-Reference", get, anElement + "/$reference", auth.Viewer, getElement(referenceContent)},
		{"GetSubmodelElementByPath-Path", get, anElement + "/$path", auth.Viewer, getElement(pathContent)},
		{"GetFileByPath", get, attachment, auth.Viewer, getAttachment},
		{"PutFileByPath", put, attachment, auth.Admin, putAttachment},
		{"DeleteFileByPath", remove, attachment, auth.Admin, deleteAttachment},
		{"InvokeOperation", post, invoke, auth.Operator, invokeSync(fullArguments)},
		{"InvokeOperation-ValueOnly", post, invoke + "/$value", auth.Operator, invokeSync(valueArguments)},
		{"InvokeOperationAsync", post, async, auth.Operator, invokeAsync(fullArguments)},
		{"InvokeOperationAsync-ValueOnly", post, async + "/$value", auth.Operator, invokeAsync(valueArguments)},
		{"GetOperationAsyncStatus", get, status, auth.Operator, operationStatus},
		{"GetOperationAsyncResult", get, results, auth.Operator, operationResult(fullArguments)},
		{"GetOperationAsyncResult-ValueOnly", get, results + "/$value", auth.Operator, operationResult(valueArguments)},
	}
}

func conceptOperations() []operation {
	return []operation{
		{"GetAllConceptDescriptions", get, "/concept-descriptions", auth.Viewer, listConcepts},
		{"PostConceptDescription", post, "/concept-descriptions", auth.Admin, concepts.post},
		{"GetConceptDescriptionById", get, aConcept, auth.Viewer, concepts.get},
		{"PutConceptDescriptionById", put, aConcept, auth.Admin, concepts.put},
		{"DeleteConceptDescriptionById", remove, aConcept, auth.Admin, concepts.delete},
	}
}

func registryOperations() []operation {
	const one = nestedDesc + "/{submodelIdentifier}"
	return []operation{
		{"GetAllAssetAdministrationShellDescriptors", get, "/shell-descriptors", auth.Viewer, listShellDescriptors},
		{"PostAssetAdministrationShellDescriptor", post, "/shell-descriptors", auth.Admin, shellDescriptors.post},
		{"GetAssetAdministrationShellDescriptorById", get, shellDesc, auth.Viewer, ownShells.one},
		{"PutAssetAdministrationShellDescriptorById", put, shellDesc, auth.Admin, shellDescriptors.put},
		{"DeleteAssetAdministrationShellDescriptorById", remove, shellDesc, auth.Admin, shellDescriptors.delete},
		{"GetAllSubmodelDescriptorsThroughSuperpath", get, nestedDesc, auth.Viewer, listNestedDescriptors},
		{"PostSubmodelDescriptor-ThroughSuperpath", post, nestedDesc, auth.Admin, postNestedDescriptor},
		{"GetSubmodelDescriptorByIdThroughSuperpath", get, one, auth.Viewer, getNestedDescriptor},
		{"PutSubmodelDescriptorByIdThroughSuperpath", put, one, auth.Admin, putNestedDescriptor},
		{"DeleteSubmodelDescriptorByIdThroughSuperpath", remove, one, auth.Admin, deleteNestedDescriptor},
		{"GetAllSubmodelDescriptors", get, "/submodel-descriptors", auth.Viewer, listSubmodelDescriptors},
		{"PostSubmodelDescriptor", post, "/submodel-descriptors", auth.Admin, submodelDescriptors.post},
		{"GetSubmodelDescriptorById", get, modelDesc, auth.Viewer, ownSubmodels.one},
		{"PutSubmodelDescriptorById", put, modelDesc, auth.Admin, submodelDescriptors.put},
		{"DeleteSubmodelDescriptorById", remove, modelDesc, auth.Admin, submodelDescriptors.delete},
	}
}

func bulkOperations() []operation {
	const (
		ofShells    = "/bulk/shell-descriptors"
		ofSubmodels = "/bulk/submodel-descriptors"
	)
	return []operation{
		{"BulkPostAssetAdministrationShellDescriptor", post, ofShells, auth.Admin, shellDescriptors.bulk((*repository.Repository[aas.ShellDescriptor]).CreateAll)},
		{"BulkPutAssetAdministrationShellDescriptorById", put, ofShells, auth.Admin, shellDescriptors.bulk((*repository.Repository[aas.ShellDescriptor]).PutAll)},
		{"BulkDeleteAssetAdministrationShellDescriptorById", remove, ofShells, auth.Admin, shellDescriptors.bulkDelete},
		{"BulkPostSubmodelDescriptor", post, ofSubmodels, auth.Admin, submodelDescriptors.bulk((*repository.Repository[aas.SubmodelDescriptor]).CreateAll)},
		{"BulkPutSubmodelDescriptorsById", put, ofSubmodels, auth.Admin, submodelDescriptors.bulk((*repository.Repository[aas.SubmodelDescriptor]).PutAll)},
		{"BulkDeleteSubmodelDescriptorsById", remove, ofSubmodels, auth.Admin, submodelDescriptors.bulkDelete},
		{"BulkGetAsyncStatus", get, "/bulk/status/{handleId}", auth.Admin, bulkStatus},
		{"BulkGetAsyncResult", get, "/bulk/result/{handleId}", auth.Admin, bulkResult},
	}
}

func packageOperations() []operation {
	const one = "/packages/{packageId}"
	return []operation{
		{"GetAllAASXPackageIds", get, "/packages", auth.Viewer, listPackages},
		{"PostAASXPackage", post, "/packages", auth.Admin, postPackage},
		{"GetAASXByPackageId", get, one, auth.Viewer, getPackage},
		{"PutAASXByPackageId", put, one, auth.Admin, putPackage},
		{"DeleteAASXByPackageId", remove, one, auth.Admin, deletePackage},
	}
}

func discoveryOperations() []operation {
	const one = "/lookup/shells/{aasIdentifier}"
	return []operation{
		{"GetAllAssetAdministrationShellIdsByAssetLink", get, "/lookup/shells", auth.Viewer, lookupShells},
		{"SearchAllAssetAdministrationShellIdsByAssetLink", post, "/lookup/shellsByAssetLink", auth.Viewer, searchShells},
		{"GetAllAssetLinksById", get, one, auth.Viewer, getAssetLinks},
		{"PostAllAssetLinksById", post, one, auth.Admin, postAssetLinks},
		{"DeleteAllAssetLinksById", remove, one, auth.Admin, deleteAssetLinks},
	}
}

func generalOperations() []operation {
	return []operation{
		{"GenerateSerializationByIds", get, "/serialization", auth.Viewer, serialize},
		{"GetSelfDescription", get, "/description", auth.Open, describe},
		{"UploadEnvironment", post, uploadPath, auth.Admin, postUpload}, // not of the standard
	}
}

// leftOut are families of the standard that are not served.
func leftOut() []operation {
	var list []operation
	for _, path := range []string{"/aas", "/aas/*", "/submodel", "/submodel/*", "/query/*"} {
		for _, method := range []string{get, put, post, patch, remove} {
			name := strings.NewReplacer("/*", "-Any", "/", "").Replace(path)
			list = append(list, operation{"NotServed-" + name + "-" + method, method, path, auth.Viewer,
				func(*call) error { return errNotImplemented }})
		}
	}
	return list
}

// routes builds the router. Methods are chosen here and not by chi, so that HEAD, OPTIONS and a wrong
// method are answered alike wherever the API is mounted.
func (a *API) routes() chi.Router {
	byPattern := make(map[string]map[string]http.Handler)
	for _, op := range operations() {
		h := a.handle(op.handle)
		if a.opts.Guard != nil {
			h = a.opts.Guard(op.row(), h)
		}
		if byPattern[op.pattern] == nil {
			byPattern[op.pattern] = make(map[string]http.Handler)
		}
		byPattern[op.pattern][op.method] = h
	}
	router := chi.NewRouter()
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.ErrNotFound, problem.Result)
	})
	for pattern, methods := range byPattern {
		router.Handle(pattern, byMethod(methods))
	}
	return router
}

func byMethod(handlers map[string]http.Handler) http.Handler {
	allowed := []string{http.MethodOptions}
	for method := range handlers {
		allowed = append(allowed, method)
	}
	if h, ok := handlers[get]; ok {
		handlers[http.MethodHead] = h
		allowed = append(allowed, http.MethodHead)
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := handlers[r.Method]; ok {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		problem.Write(w, r, problem.ErrMethodNotAllowed.With("method", r.Method), problem.Result)
	})
}

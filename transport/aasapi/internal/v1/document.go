package v1

import (
	"bytes"

	"github.com/otkit/otkit/aas/repository"
)

// The canonical JSON begins with the model type, and that of a shell ends with its submodels.
var (
	shellHead    = []byte(`{"modelType":"AssetAdministrationShell",`)
	submodelHead = []byte(`{"modelType":"Submodel",`)
	conceptHead  = []byte(`{"modelType":"ConceptDescription",`)
)

// AppendDocument appends a document with its model type. A shell always has submodels.
func AppendDocument(dst []byte, d *repository.Document) []byte {
	return withSubmodels(append(dst, d.JSON...), d.Kind)
}

// AppendItem appends a document as an item of a list: without its model type.
func AppendItem(dst []byte, d *repository.Document) []byte {
	head := shellHead
	switch d.Kind {
	case repository.KindSubmodel:
		head = submodelHead
	case repository.KindConceptDescription:
		head = conceptHead
	}
	rest, found := bytes.CutPrefix(d.JSON, head)
	if !found {
		return AppendDocument(dst, d)
	}
	return withSubmodels(append(append(dst, '{'), rest...), d.Kind)
}

// withSubmodels adds the empty array to a shell that has no submodels. They are its last member, and
// what comes before is an object that a shell cannot be without: so its end tells whether they are there.
func withSubmodels(doc []byte, kind repository.Kind) []byte {
	if kind != repository.KindShell || len(doc) < 2 || doc[len(doc)-2] == ']' {
		return doc
	}
	return append(doc[:len(doc)-1], `,"submodels":[]}`...)
}

package aas

import "slices"

// ReferenceType returns what a reference points at.
type ReferenceType string

// The types of reference.
const (
	ExternalReference ReferenceType = "ExternalReference" // to something outside of any environment
	ModelReference    ReferenceType = "ModelReference"    // to a shell, a submodel, a concept description or a part of one
)

// Reference is an ordered chain of keys that leads to something. A valid one has at least one key.
type Reference struct {
	Type               ReferenceType
	ReferredSemanticID *Reference
	Keys               []Key
	Unknown            string // see [Referable]
}

// Key is one step of a [Reference].
type Key struct {
	Type  KeyType
	Value string
}

// KeyType returns what a key names: an [ElementKind], a [Kind] of document, or one of the constants.
type KeyType string

// The types of key that are no kind of element.
const (
	KeyGlobalReference    KeyType = "GlobalReference"
	KeyFragmentReference  KeyType = "FragmentReference"
	KeyShell              KeyType = "AssetAdministrationShell"
	KeySubmodel           KeyType = "Submodel"
	KeyConceptDescription KeyType = "ConceptDescription"
	KeyIdentifiable       KeyType = "Identifiable"
	KeyReferable          KeyType = "Referable"
	KeySubmodelElement    KeyType = "SubmodelElement"
	KeyDataElement        KeyType = "DataElement"
	KeyEventElement       KeyType = "EventElement"
)

// RefTo returns the model reference to a submodel.
func RefTo(submodelID string) Reference {
	return Reference{Type: ModelReference, Keys: []Key{{KeySubmodel, submodelID}}}
}

// Matches reports whether two references are of one type and have the same keys. What ReferredSemanticID
// explains makes no difference. A nil reference matches none.
func (v *Reference) Matches(other *Reference) bool {
	return v != nil && other != nil && v.Type == other.Type && slices.Equal(v.Keys, other.Keys)
}

// Global returns the external reference with one global key, the usual form of a semantic id.
func Global(value string) *Reference {
	return &Reference{Type: ExternalReference, Keys: []Key{{KeyGlobalReference, value}}}
}

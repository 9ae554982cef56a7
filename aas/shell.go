package aas

// Shell is an asset administration shell: what is known of one asset.
type Shell struct {
	Identifiable
	DerivedFrom      *Reference
	AssetInformation AssetInformation
	Submodels        []Reference // model references to submodels
}

// AssetKind reports whether an asset is a thing or a design.
type AssetKind string

// The kinds of asset.
const (
	Type          AssetKind = "Type"
	Instance      AssetKind = "Instance"
	Role          AssetKind = "Role"
	NotApplicable AssetKind = "NotApplicable"
	Batch         AssetKind = "Batch" // since metamodel 3.2
)

// AssetInformation identifies an asset. By AASd-131 at least one of GlobalAssetID and
// SpecificAssetIDs is there.
type AssetInformation struct {
	AssetKind        AssetKind
	GlobalAssetID    string
	SpecificAssetIDs []SpecificAssetID
	AssetType        string
	DefaultThumbnail *Resource
	Unknown          string // see [Referable]
}

// SpecificAssetID is an id that an asset has in some domain, such as a serial number.
type SpecificAssetID struct {
	Semantics
	Name              string
	Value             string
	ExternalSubjectID *Reference
	Unknown           string // see [Referable]
}

// Resource is a file: a path in a package or a URL.
type Resource struct {
	Path        string
	ContentType string // media type; may be empty
	Unknown     string // see [Referable]
}

// Environment is shells, submodels and concept descriptions in one document.
type Environment struct {
	Shells              []*Shell
	Submodels           []*Submodel
	ConceptDescriptions []*ConceptDescription
	Unknown             string // see [Referable]
}

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

// ModellingKind reports whether a submodel is a template or an instance.
type ModellingKind string

// The modelling kinds. An absent kind means an instance.
const (
	KindTemplate ModellingKind = "Template"
	KindInstance ModellingKind = "Instance"
)

// Submodel is one aspect of an asset.
type Submodel struct {
	Identifiable
	Kind ModellingKind // empty when absent
	Semantics
	Qualifiers []Qualifier
	Elements   []Element
}

// ConceptDescription returns what a semantic id means.
type ConceptDescription struct {
	Identifiable
	IsCaseOf []Reference
}

// EmbeddedDataSpecification is content after a data specification.
type EmbeddedDataSpecification struct {
	DataSpecification *Reference // nil only in the short form of a concept description, which is completed
	Content           *IEC61360
	// OtherContent is the JSON text of content of another kind than [IEC61360], such as that of units of measure in
	// metamodel 3.2; Content is nil then.
	OtherContent string
	Unknown      string // see [Referable]
}

// IEC61360 is the content of a data specification after IEC 61360, the one kind that the metamodel has.
type IEC61360 struct {
	PreferredName      []LangString
	ShortName          []LangString
	Unit               string
	UnitID             *Reference
	SourceOfDefinition string
	Symbol             string
	DataType           string // such as REAL_MEASURE
	Definition         []LangString
	ValueFormat        string
	ValueList          []ValueReferencePair
	Value              string
	LevelType          *LevelType
	Unknown            string // see [Referable]
}

// ValueReferencePair is one value that a concept may take.
type ValueReferencePair struct {
	Value   string
	ValueID *Reference
}

// LevelType returns which values of a range a concept has.
type LevelType struct{ Min, Nom, Typ, Max bool }

// IEC61360Template is the id of the data specification that [IEC61360] is the content after.
const IEC61360Template = "https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"

const contentModelType = "DataSpecificationIec61360"

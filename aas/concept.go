package aas

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

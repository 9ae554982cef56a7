package aas

// LangString is a text in one language.
type LangString struct {
	Language string // BCP 47, such as de or en-GB
	Text     string
}

// Referable is what everything with a name has. A nil slice and a slice without entries are the same
// and omitted of the JSON form, here and everywhere in the model.
type Referable struct {
	Extensions  []Extension
	Category    string // CONSTANT, PARAMETER or VARIABLE; out of use in V3
	IDShort     string // letters, digits, - and _, beginning with a letter; empty for an entry of a list
	DisplayName []LangString
	Description []LangString
	// Unknown has the members that the metamodel does not have, as JSON text such as "x":1,"y":[]. They are kept and
	// written again, here and in the other types with this field. [UnknownMembers] returns their names.
	Unknown string
}

// Identifiable is what everything with a global id has.
type Identifiable struct {
	Referable
	Administration             *Administration
	ID                         string // 1..2048 characters
	EmbeddedDataSpecifications []EmbeddedDataSpecification
}

// Administration tells of the version of an identifiable.
type Administration struct {
	EmbeddedDataSpecifications []EmbeddedDataSpecification
	Version                    string
	Revision                   string // only with a Version
	Creator                    *Reference
	CreatedAt                  string // xs:dateTime in UTC; since metamodel 3.2
	UpdatedAt                  string // likewise
	TemplateID                 string
	Unknown                    string // see [Referable]
}

// Semantics returns what something means.
type Semantics struct {
	SemanticID              *Reference
	SupplementalSemanticIDs []Reference // only with a SemanticID
}

// Extension is a proprietary addition.
type Extension struct {
	Semantics
	Name      string
	ValueType DataType // empty means xs:string
	Value     *string  // nil when absent
	RefersTo  []Reference
	Unknown   string // see [Referable]
}

// QualifierKind returns what a qualifier qualifies.
type QualifierKind string

// The kinds of qualifier.
const (
	ConceptQualifier  QualifierKind = "ConceptQualifier" // the default
	TemplateQualifier QualifierKind = "TemplateQualifier"
	ValueQualifier    QualifierKind = "ValueQualifier"
)

// Qualifier is a further statement about an element or a submodel.
type Qualifier struct {
	Semantics
	Kind      QualifierKind // empty when absent
	Type      string
	ValueType DataType
	Value     *string // nil when absent
	ValueID   *Reference
	Unknown   string // see [Referable]
}

// DataType is an XSD type, such as xs:string.
type DataType string

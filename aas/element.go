package aas

// ElementKind is the modelType of a submodel element.
type ElementKind string

// Element is a submodel element: a pointer to one of the structs of this file.
type Element interface {
	// ElementKind returns the modelType.
	ElementKind() ElementKind
	// Common returns what every element has; changes to it change the element.
	Common() *ElementCommon
}

// ElementCommon is what every submodel element has.
type ElementCommon struct {
	Referable
	Semantics
	Qualifiers                 []Qualifier
	EmbeddedDataSpecifications []EmbeddedDataSpecification
}

// Common returns c itself.
func (c *ElementCommon) Common() *ElementCommon { return c }

// Property is one value of a simple type.
type Property struct {
	ElementCommon
	ValueType DataType
	Value     *string // the lexical form after ValueType; nil when absent
	ValueID   *Reference
}

// MultiLanguageProperty is a text in several languages.
type MultiLanguageProperty struct {
	ElementCommon
	Value   []LangString
	ValueID *Reference
}

// Range is an interval. A nil end is open.
type Range struct {
	ElementCommon
	ValueType DataType
	Min, Max  *string
}

// ReferenceElement is a reference as a value.
type ReferenceElement struct {
	ElementCommon
	Value *Reference
}

// RelationshipElement relates two things.
type RelationshipElement struct {
	ElementCommon
	First, Second *Reference
}

// AnnotatedRelationshipElement is a relationship with data elements about it.
type AnnotatedRelationshipElement struct {
	RelationshipElement
	Annotations []Element
}

// Blob is a value of bytes.
type Blob struct {
	ElementCommon
	Value       []byte // nil when absent
	ContentType string
	// RemoveValue tells an absent value that was null in a document from one that was omitted: a put then
	// removes the stored value instead of keeping it. It is not part of the encoded form.
	RemoveValue bool
}

// File is the path or URL of a file.
type File struct {
	ElementCommon
	Value       *string // a URL, or the name of a file that the store keeps; nil when absent
	ContentType string
}

// Collection is a struct: elements with names.
type Collection struct {
	ElementCommon
	Value []Element
}

// List is an array: elements of one kind, without names.
type List struct {
	ElementCommon
	OrderRelevant         *bool // nil means true
	SemanticIDListElement *Reference
	TypeValueListElement  ElementKind // also DataElement, EventElement and SubmodelElement
	ValueTypeListElement  DataType    // of properties and ranges
	Value                 []Element
}

// EntityType reports whether an entity stands for itself.
type EntityType string

// The types of entity.
const (
	CoManagedEntity   EntityType = "CoManagedEntity"
	SelfManagedEntity EntityType = "SelfManagedEntity" // has a global or a specific asset id
)

// Entity is a thing, such as a part of a machine.
type Entity struct {
	ElementCommon
	Statements       []Element
	EntityType       EntityType
	GlobalAssetID    string
	SpecificAssetIDs []SpecificAssetID
}

// Operation is something that can be invoked.
type Operation struct {
	ElementCommon
	InputVariables    []Element // the values of the operation variables
	OutputVariables   []Element
	InoutputVariables []Element
}

// Capability returns what an asset can do.
type Capability struct{ ElementCommon }

// BasicEventElement describes an event that something gives out or takes.
type BasicEventElement struct {
	ElementCommon
	Observed      Reference
	Direction     string // input or output
	State         string // on or off
	MessageTopic  string
	MessageBroker *Reference
	LastUpdate    string // xs:dateTime in UTC
	MinInterval   string // xs:duration
	MaxInterval   string // xs:duration
}

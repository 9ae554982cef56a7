package aas

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

package aas

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// Validate finds what breaks the metamodel without looking outside of the document: ids, idShorts and
// their uniqueness among siblings, values that are not of their data type, empty references, kinds of
// list entries. The error is ErrInvalidRequest with a Field for each finding, at most 100: the path of
// the member in the JSON form and the rule, with the name of the constraint in IDTA-01001 where it has
// one. Package verify checks the whole metamodel.
func (s *Submodel) Validate() error { return check(s) }

func (s *Submodel) check(c *checker) {
	c.identifiable(&s.Identifiable)
	c.semantics("", &s.Semantics)
	c.qualifiers("", s.Qualifiers)
	c.named("submodelElements", s.Elements, names{})
}

// Validate is [Submodel.Validate] for a shell; AASd-131 asks for an id of the asset.
func (v *Shell) Validate() error { return check(v) }

func (v *Shell) check(c *checker) {
	c.identifiable(&v.Identifiable)
	a := &v.AssetInformation
	if _, ok := assetKinds[a.AssetKind]; !ok {
		c.find("assetInformation.assetKind", "is required: Type, Instance, Role or NotApplicable")
	}
	if a.GlobalAssetID == "" && len(a.SpecificAssetIDs) == 0 {
		c.find("assetInformation", "must have globalAssetId or specificAssetIds (AASd-131)")
	}
	c.assetIDs("assetInformation.specificAssetIds", a.SpecificAssetIDs)
	if v.DerivedFrom != nil {
		c.reference("derivedFrom", v.DerivedFrom)
	}
	c.references("submodels", v.Submodels)
}

// Validate is [Submodel.Validate] for a concept description.
func (v *ConceptDescription) Validate() error { return check(v) }

func (v *ConceptDescription) check(c *checker) {
	c.identifiable(&v.Identifiable)
	c.references("isCaseOf", v.IsCaseOf)
}

// ValidateElement is [Submodel.Validate] for one element, with or without an idShort.
func ValidateElement(element Element) error { return check(element) }

// check is Check for whatever has one.
func check(v any) error {
	if err := ValidateTree(v); err != nil {
		return err
	}
	found := Findings(v, maxReported)
	if len(found) == 0 {
		return nil
	}
	return ErrInvalidRequest.Invalid(found...)
}

// maxReported is how many findings an error has.
const maxReported = 100

// Findings returns what breaks the metamodel in v, at most limit findings: the path of a member and the rule. v is
// what has a Validate method, or an [Element]; in anything else nothing is found. See [ValidateTree] for what was
// made in Go.
func Findings(v any, limit int) []fault.Field {
	c := checker{most: limit}
	c.run(v)
	return c.found
}

type checker struct {
	found []fault.Field
	most  int
}

func (c *checker) run(v any) {
	switch v := v.(type) {
	case interface{ check(c *checker) }:
		v.check(c)
	case Element:
		c.element("", v)
	}
}

func (c *checker) find(path, rule string) {
	if len(c.found) < c.most {
		c.found = append(c.found, fault.Field{Field: path, Message: rule})
	}
}

func memberOf(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func entryOf(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func (c *checker) identifiable(i *Identifiable) {
	if n := utf8.RuneCountInString(i.ID); n == 0 || n > MaxIDLength {
		c.find("id", "must have 1 to 2048 characters")
	}
	c.referable("", &i.Referable)
	c.administration("", i.Administration)
}

func (c *checker) administration(path string, a *Administration) {
	if a != nil && a.Revision != "" && a.Version == "" {
		c.find(memberOf(path, "administration.revision"), "must not be without a version (AASd-005)")
	}
	if a != nil {
		c.utc(memberOf(path, "administration.createdAt"), a.CreatedAt)
		c.utc(memberOf(path, "administration.updatedAt"), a.UpdatedAt)
	}
}

// utc checks a time that must be in UTC; an empty text is absent.
func (c *checker) utc(path, text string) {
	if text == "" {
		return
	}
	utc := strings.HasSuffix(text, "Z") || strings.HasSuffix(text, "+00:00") || strings.HasSuffix(text, "-00:00")
	if !utc || !lexicalRules[DateTime](text) {
		c.find(path, "must be an xs:dateTime in UTC")
	}
}

func (c *checker) referable(path string, r *Referable) {
	if r.IDShort != "" && !validIDShort(r.IDShort) {
		c.find(memberOf(path, "idShort"), "must be letters, digits, - and _, begin with a letter and not end with - (AASd-002)")
	}
	seen := names{}
	for i := range r.Extensions {
		x := &r.Extensions[i]
		t := x.ValueType
		if t == "" {
			t = String
		}
		p := entryOf(memberOf(path, "extensions"), i)
		c.semantics(p, &x.Semantics)
		c.lexical(memberOf(p, "value"), t, x.Value)
		if !seen.add(x.Name) {
			c.find(memberOf(p, "name"), "must be unique among the extensions (AASd-077)")
		}
	}
}

// validIDShort takes one letter alone as well, as V3.0 does.
func validIDShort(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(s) <= 128 && s[len(s)-1] != '-'
}

func (c *checker) semantics(path string, s *Semantics) {
	if s.SemanticID != nil {
		c.reference(memberOf(path, "semanticId"), s.SemanticID)
	} else if len(s.SupplementalSemanticIDs) > 0 {
		c.find(memberOf(path, "supplementalSemanticIds"), "must not be without a semanticId (AASd-118)")
	}
	c.references(memberOf(path, "supplementalSemanticIds"), s.SupplementalSemanticIDs)
}

func (c *checker) references(path string, list []Reference) {
	for i := range list {
		c.reference(entryOf(path, i), &list[i])
	}
}

func (c *checker) reference(path string, r *Reference) {
	if len(r.Keys) == 0 {
		c.find(memberOf(path, "keys"), "must have at least one key")
	}
	for i, k := range r.Keys {
		if k.Value == "" {
			c.find(memberOf(entryOf(memberOf(path, "keys"), i), "value"), "must not be empty")
		}
	}
}

func (c *checker) assetIDs(path string, list []SpecificAssetID) {
	for i := range list {
		if list[i].Name == "" || list[i].Value == "" {
			c.find(entryOf(path, i), "must have a name and a value")
		}
		c.semantics(entryOf(path, i), &list[i].Semantics)
	}
}

func (c *checker) qualifiers(path string, list []Qualifier) {
	seen := names{}
	for i := range list {
		q, p := &list[i], entryOf(memberOf(path, "qualifiers"), i)
		c.semantics(p, &q.Semantics)
		if q.Type == "" {
			c.find(memberOf(p, "type"), "must not be empty")
		}
		c.lexical(memberOf(p, "value"), q.ValueType, q.Value)
		if !seen.add(q.Type) {
			c.find(memberOf(p, "type"), "must be unique among the qualifiers (AASd-021)")
		}
	}
}

// lexical checks values of properties, ranges and extensions by the constraint too that has its name
// from qualifiers. What is no text at all is no string either.
func (c *checker) lexical(path string, t DataType, text *string) {
	if text == nil || lexicalRules[t] == nil || lexicalRules[t](*text) {
		return
	}
	names := " (AASd-020)"
	if !isXMLText(*text) {
		names = " (AASd-020, AASd-130)"
	}
	c.find(path, notLexical(t)+names)
}

type names map[string]struct{}

// add reports whether the name is new.
func (n names) add(name string) bool {
	before := len(n)
	n[name] = struct{}{}
	return len(n) > before
}

// named checks elements that have to have names, none of which is in seen.
func (c *checker) named(path string, elements []Element, seen names) {
	for i, element := range elements {
		c.child(entryOf(path, i), element, seen, "AASd-022")
	}
}

// variables checks variables of an operation, whose elements are a member further down.
func (c *checker) variables(path string, elements []Element, seen names) {
	for i, element := range elements {
		c.child(memberOf(entryOf(path, i), "value"), element, seen, "AASd-134")
	}
}

// child checks an element whose name has to be unique by a constraint.
func (c *checker) child(path string, element Element, seen names, unique string) {
	if name := element.Common().IDShort; name == "" {
		c.find(memberOf(path, "idShort"), "is required (AASd-117)")
	} else if !seen.add(name) {
		c.find(memberOf(path, "idShort"), "must be unique among its siblings: "+name+" ("+unique+")")
	}
	c.element(path, element)
}
func (c *checker) element(path string, element Element) {
	common := element.Common()
	c.referable(path, &common.Referable)
	c.semantics(path, &common.Semantics)
	c.qualifiers(path, common.Qualifiers)
	switch v := element.(type) {
	case *Property:
		c.valueType(path, v.ValueType)
		c.lexical(memberOf(path, "value"), v.ValueType, v.Value)
	case *Range:
		c.valueType(path, v.ValueType)
		c.lexical(memberOf(path, "min"), v.ValueType, v.Min)
		c.lexical(memberOf(path, "max"), v.ValueType, v.Max)
	case *Collection:
		c.named(memberOf(path, "value"), v.Value, names{})
	case *AnnotatedRelationshipElement:
		c.named(memberOf(path, "annotations"), v.Annotations, names{})
		for i, a := range v.Annotations {
			if !isKind(a, ElementKind(KeyDataElement)) {
				c.find(entryOf(memberOf(path, "annotations"), i), "must be a data element")
			}
		}
	case *Entity:
		c.named(memberOf(path, "statements"), v.Statements, names{})
		c.assetIDs(memberOf(path, "specificAssetIds"), v.SpecificAssetIDs)
		if v.EntityType == SelfManagedEntity && v.GlobalAssetID == "" && len(v.SpecificAssetIDs) == 0 {
			c.find(memberOf(path, "globalAssetId"), "or specificAssetIds is required (AASd-014)")
		}
	case *Operation:
		seen := names{}
		c.variables(memberOf(path, "inputVariables"), v.InputVariables, seen)
		c.variables(memberOf(path, "outputVariables"), v.OutputVariables, seen)
		c.variables(memberOf(path, "inoutputVariables"), v.InoutputVariables, seen)
	case *List:
		c.list(path, v)
	case *BasicEventElement:
		c.reference(memberOf(path, "observed"), &v.Observed)
	}
}

func (c *checker) valueType(path string, t DataType) {
	if lexicalRules[t] == nil {
		c.find(memberOf(path, "valueType"), "is required: a data type of the metamodel")
	}
}

func (c *checker) list(path string, l *List) {
	kind := l.TypeValueListElement
	if _, ok := listElementKinds[kind]; !ok {
		c.find(memberOf(path, "typeValueListElement"), "is required: a kind of submodel element")
		return
	}
	if (kind == KindProperty || kind == KindRange) && l.ValueTypeListElement == "" {
		c.find(memberOf(path, "valueTypeListElement"), "is required (AASd-109)")
	}
	for i, element := range l.Value {
		p := entryOf(memberOf(path, "value"), i)
		if !isKind(element, kind) {
			c.find(p, "must be "+string(kind)+" (AASd-108)")
		}
		if t := valueTypeOf(element); t != "" && l.ValueTypeListElement != "" && t != l.ValueTypeListElement {
			c.find(memberOf(p, "valueType"), "must be "+string(l.ValueTypeListElement)+" (AASd-109)")
		}
		c.element(p, element)
	}
}

func valueTypeOf(element Element) DataType {
	switch v := element.(type) {
	case *Property:
		return v.ValueType
	case *Range:
		return v.ValueType
	}
	return ""
}

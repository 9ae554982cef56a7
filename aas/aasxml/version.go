package aasxml

import (
	"bytes"
	"io"

	"github.com/aas-core-works/aas-core3.1-golang/xmlization"

	"github.com/otkit/otkit/aas"
)

// EncodeV30 is [Encode] for readers of metamodel 3.0: it writes in the namespace 3/0, unless env has
// something that has no form there, such as an entity without a type.
func EncodeV30(w io.Writer, env *aas.Environment) error {
	if !fitsV30(env) {
		return Encode(w, env)
	}
	return Encode(&v30Writer{w: w}, env)
}

// v30Writer changes the namespace, which is written once: with the root, which comes in one piece.
type v30Writer struct {
	w    io.Writer
	done bool
}

func (v *v30Writer) Write(text []byte) (int, error) {
	if v.done || !bytes.Contains(text, []byte(xmlization.Namespace)) {
		return v.w.Write(text)
	}
	v.done = true
	if _, err := v.w.Write(bytes.Replace(text, []byte(xmlization.Namespace), []byte(namespace30), 1)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// fitsV30 says whether env has all that metamodel 3.0 wants and 3.1 leaves open, and no literal that came
// with 3.1.
func fitsV30(env *aas.Environment) bool {
	for _, s := range env.Shells {
		if s != nil && (s.AssetInformation.AssetKind == aas.Role || !identifiableFitsV30(&s.Identifiable)) {
			return false
		}
	}
	for _, c := range env.ConceptDescriptions {
		if c != nil && !identifiableFitsV30(&c.Identifiable) {
			return false
		}
	}
	fits := true
	for _, m := range env.Submodels {
		if m == nil {
			continue
		}
		fits = fits && identifiableFitsV30(&m.Identifiable)
		m.Walk(func(_ aas.Path, e aas.Element) bool {
			fits = fits && elementFitsV30(e)
			return fits
		})
	}
	return fits
}

func identifiableFitsV30(i *aas.Identifiable) bool {
	return specificationsFitV30(i.EmbeddedDataSpecifications) &&
		(i.Administration == nil || specificationsFitV30(i.Administration.EmbeddedDataSpecifications))
}

func elementFitsV30(e aas.Element) bool {
	if !specificationsFitV30(e.Common().EmbeddedDataSpecifications) {
		return false
	}
	switch e := e.(type) {
	case *aas.Entity:
		return e.EntityType != ""
	case *aas.File:
		return e.ContentType != ""
	case *aas.Blob:
		return e.ContentType != ""
	case *aas.RelationshipElement:
		return e.First != nil && e.Second != nil
	case *aas.AnnotatedRelationshipElement:
		return e.First != nil && e.Second != nil
	}
	return true
}

func specificationsFitV30(list []aas.EmbeddedDataSpecification) bool {
	for i := range list {
		c := list[i].Content
		if list[i].DataSpecification == nil || c == nil {
			return false
		}
		for j := range c.ValueList {
			if c.ValueList[j].ValueID == nil {
				return false
			}
		}
	}
	return true
}

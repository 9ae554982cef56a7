package aasxml_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
)

// A reader of metamodel 3.0 gets its namespace, but nothing in it that it does not know.
func TestEncodeV30(t *testing.T) {
	const old, now = `xmlns="https://admin-shell.io/aas/3/0"`, `xmlns="https://admin-shell.io/aas/3/1"`
	elements := func(list ...aas.Element) *aas.Environment {
		for _, e := range list {
			e.Common().IDShort = "ee"
		}
		c := &aas.Collection{Value: list}
		c.IDShort = "cc"
		return &aas.Environment{Submodels: []*aas.Submodel{{Identifiable: aas.Identifiable{ID: "urn:m"}, Elements: []aas.Element{c}}}}
	}
	shell := func(kind aas.AssetKind) *aas.Environment {
		return &aas.Environment{Shells: []*aas.Shell{{Identifiable: aas.Identifiable{ID: "urn:a"},
			AssetInformation: aas.AssetInformation{AssetKind: kind, GlobalAssetID: "https://admin-shell.io/aas/3/1"}}}}
	}
	concept := func(valueID *aas.Reference) *aas.Environment {
		return &aas.Environment{ConceptDescriptions: []*aas.ConceptDescription{{Identifiable: aas.Identifiable{ID: "urn:c",
			EmbeddedDataSpecifications: []aas.EmbeddedDataSpecification{{DataSpecification: aas.Global("urn:s"),
				Content: &aas.IEC61360{PreferredName: []aas.LangString{{Language: "en", Text: "x"}}, ValueList: []aas.ValueReferencePair{{Value: "v", ValueID: valueID}}}}}}}}}
	}
	one := aas.RefTo("urn:x")
	many := elements()
	for range 10_000 {
		many.Submodels = append(many.Submodels, &aas.Submodel{Identifiable: aas.Identifiable{ID: "https://admin-shell.io/aas/3/1"}})
	}
	for name, c := range map[string]struct {
		env  *aas.Environment
		want string
	}{
		"nothing": {&aas.Environment{}, old}, "much": {many, old}, "instance": {shell(aas.Instance), old}, "role": {shell(aas.Role), now},
		"file": {elements(&aas.File{ContentType: "a/b"}), old}, "file without a type": {elements(&aas.File{}), now},
		"blob": {elements(&aas.Blob{ContentType: "a/b"}), old}, "blob without a type": {elements(&aas.Blob{}), now},
		"entity": {elements(&aas.Entity{EntityType: aas.CoManagedEntity}), old}, "entity without a type": {elements(&aas.Entity{}), now},
		"relationship":         {elements(&aas.RelationshipElement{First: &one, Second: &one}), old},
		"half a relationship":  {elements(&aas.RelationshipElement{First: &one}), now},
		"annotated":            {elements(&aas.AnnotatedRelationshipElement{RelationshipElement: aas.RelationshipElement{First: &one}}), now},
		"variable":             {elements(&aas.Operation{InputVariables: []aas.Element{&aas.Entity{}}}), now},
		"concept":              {concept(&one), old},
		"value without its id": {concept(nil), now},
	} {
		t.Run(name, func(t *testing.T) {
			var b, plain bytes.Buffer
			require.NoError(t, aasxml.EncodeV30(&b, c.env))
			require.NoError(t, aasxml.Encode(&plain, c.env))
			require.Equal(t, strings.Replace(plain.String(), now, c.want, 1), b.String())
			require.Equal(t, decode(t, plain.String()), decode(t, b.String()))
		})
	}
}

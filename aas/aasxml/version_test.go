package aasxml_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/aas-core-works/aas-core3.0-golang/types"
	core "github.com/aas-core-works/aas-core3.0-golang/xmlization"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasxml"
)

// A reader of metamodel 3.0, here aas-core3.0, gets its namespace and nothing that it does not know.
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
		fits bool // in metamodel 3.0 as it is
	}{
		"nothing": {&aas.Environment{}, true}, "much": {many, true}, "instance": {shell(aas.Instance), true}, "role": {shell(aas.Role), false},
		"batch": {shell(aas.Batch), false},
		"file":  {elements(&aas.File{ContentType: "a/b"}), true}, "file without a type": {elements(&aas.File{}), false},
		"blob": {elements(&aas.Blob{ContentType: "a/b"}), true}, "blob without a type": {elements(&aas.Blob{}), false},
		"entity": {elements(&aas.Entity{EntityType: aas.CoManagedEntity}), true}, "entity without a type": {elements(&aas.Entity{}), false},
		"relationship":         {elements(&aas.RelationshipElement{First: &one, Second: &one}), true},
		"half a relationship":  {elements(&aas.RelationshipElement{First: &one}), false},
		"annotated":            {elements(&aas.AnnotatedRelationshipElement{RelationshipElement: aas.RelationshipElement{First: &one}}), false},
		"variable":             {elements(&aas.Operation{InputVariables: []aas.Element{&aas.Entity{}}}), false},
		"concept":              {concept(&one), true},
		"value without its id": {concept(nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, aasxml.EncodeV30(&b, c.env))
			require.Equal(t, 1, strings.Count(b.String(), old))
			require.NotContains(t, b.String(), now)
			instance, err := core.Unmarshal(xml.NewDecoder(strings.NewReader(strings.TrimPrefix(b.String(), xml.Header))))
			require.NoError(t, err)
			require.IsType(t, &types.Environment{}, instance)
			if c.fits {
				var plain bytes.Buffer
				require.NoError(t, aasxml.Encode(&plain, c.env))
				require.Equal(t, strings.Replace(plain.String(), now, old, 1), b.String())
				require.Equal(t, decode(t, plain.String()), decode(t, b.String()))
			}
		})
	}
}

// What came with metamodel 3.2 is written in its namespace and read again; what XML has no form for is refused.
func TestVersion32(t *testing.T) {
	env := &aas.Environment{Shells: []*aas.Shell{{Identifiable: aas.Identifiable{ID: "urn:a", Administration: &aas.Administration{
		Version: "1", CreatedAt: "2026-01-02T03:04:05Z", UpdatedAt: "2026-01-02T03:04:06Z"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Batch, GlobalAssetID: "urn:x"}}}}
	text := string(encode(t, env))
	require.Contains(t, text, `xmlns="https://admin-shell.io/aas/3/2"`)
	require.Equal(t, env, decode(t, text))

	env.Shells[0].AssetInformation.Unknown = `"vendor":{"x":1}`
	var b bytes.Buffer
	err := aasxml.Encode(&b, env)
	require.ErrorIs(t, err, aasxml.ErrNoForm)
	require.ErrorContains(t, err, "assetAdministrationShells[0].assetInformation.vendor")
	require.Zero(t, b.Len())
	require.NoError(t, aasxml.EncodeV30(&b, env))
	require.NotContains(t, b.String(), "vendor")

	specification := aas.EmbeddedDataSpecification{DataSpecification: aas.Global("urn:u"), OtherContent: `{"modelType":"DataSpecificationUom","symbol":"m"}`}
	env = &aas.Environment{ConceptDescriptions: []*aas.ConceptDescription{{Identifiable: aas.Identifiable{ID: "urn:c", EmbeddedDataSpecifications: []aas.EmbeddedDataSpecification{specification}}}}}
	require.ErrorContains(t, aasxml.Encode(&b, env), "DataSpecificationUom")
}

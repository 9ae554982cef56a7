package aas_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

func newProperty(idShort string, t aas.DataType, value string) *aas.Property {
	return &aas.Property{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: idShort}}, ValueType: t, Value: &value}
}

func newSubmodel(elements ...aas.Element) *aas.Submodel {
	return &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:x"}, Elements: elements}
}

func newCollection(idShort string, elements ...aas.Element) *aas.Collection {
	return &aas.Collection{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: idShort}}, Value: elements}
}

func findings(v any) []fault.Field { return aas.Findings(v, 100) }

func TestNothingIsFoundInWhatIsRight(t *testing.T) {
	require.Empty(t, findings(&aas.Shell{
		Identifiable:     aas.Identifiable{ID: "urn:x", Referable: aas.Referable{IDShort: "Shell"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:a"},
		Submodels:        []aas.Reference{aas.RefTo("urn:s")},
	}))
	require.Empty(t, findings(newSubmodel(newProperty("aa", "xs:int", "1"), newCollection("bb", newProperty("aa", "xs:string", "")))))
	require.Empty(t, findings(&aas.ConceptDescription{Identifiable: aas.Identifiable{ID: "0173-1#02-AAO677#002"}}))
	require.Empty(t, findings(newProperty("aa", "xs:boolean", "true")))
	require.Empty(t, findings(&aas.ShellDescriptor{ID: "urn:x"}))
	require.Empty(t, findings(7))
}

func TestAConceptNeedsNoDefinition(t *testing.T) {
	c, err := aas.Decode[aas.ConceptDescription]([]byte(`{"id":"0173-1#02-BAA120#008","idShort":"MaxRotationSpeed","embeddedDataSpecifications":[
		{"dataSpecificationContent":{"preferredName":[{"language":"en","text":"max rotation speed"}],"unit":"1/min","valueFormat":"NR1..5"}}]}`))
	require.NoError(t, err)
	require.Empty(t, findings(c))
	c.EmbeddedDataSpecifications[0].Content.PreferredName[0].Language = "de"
	require.Len(t, aas.Findings(c, 1), 1, "other rules stay")
}

func TestAnIDShortOfOneLetterIsRight(t *testing.T) {
	s := newSubmodel(newProperty("a", "xs:int", "1"), newProperty("A", "xs:int", "1"), newCollection("b", newProperty("a", "xs:int", "1")))
	s.IDShort = "Z"
	require.Empty(t, findings(s))
	require.Empty(t, findings(newProperty("x", "xs:int", "1")))
	require.Equal(t, "a", s.Elements[0].Common().IDShort, "what is verified is not changed")
	require.Len(t, findings(newSubmodel(newProperty("a", "xs:int", "1"), newProperty("a", "xs:int", "1"))), 1)
	for _, name := range []string{"1", "_", "-", "ä", "@", "["} {
		require.NotEmpty(t, findings(newProperty(name, "xs:int", "1")), name)
	}
}

func TestFindingsNameTheMemberAndTheConstraint(t *testing.T) {
	two := &aas.Reference{Type: "OtherReference", Keys: []aas.Key{{Type: aas.KeyGlobalReference, Value: "x"}}}
	for _, c := range []struct {
		name           string
		v              any
		field, message string
	}{
		{"equal idShorts", newSubmodel(newProperty("aa", "xs:int", "1"), newProperty("aa", "xs:int", "2")), "submodelElements[1].idShort", "AASd-022"},
		{"idShort", newSubmodel(newCollection("bb", newProperty("ok", "xs:int", "1"), newProperty("1a", "xs:int", "1"))), "submodelElements[0].value[1].idShort", "AASd-002"},
		{"value type", newSubmodel(newProperty("aa", "xs:int", "1.5")), "submodelElements[0].value", "AASd-020"},
		{"literal", newSubmodel(newProperty("aa", "xs:nothing", "1")), "submodelElements[0].valueType", "one of the values"},
		{"no asset id", &aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: aas.AssetInformation{AssetKind: aas.Type}}, "assetInformation", "AASd-131"},
		{"unknown asset kind", &aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: aas.AssetInformation{AssetKind: "Thing", GlobalAssetID: "x"}}, "assetInformation.assetKind", "one of the values"},
		{"empty id", &aas.ConceptDescription{}, "id", "must have 1 to 2048 characters"},
		{"reference", &aas.Submodel{Identifiable: aas.Identifiable{ID: "x"}, Semantics: aas.Semantics{SemanticID: two}}, "semanticId.type", "one of the values"},
		{"specification", &aas.ConceptDescription{Identifiable: aas.Identifiable{ID: "x", EmbeddedDataSpecifications: []aas.EmbeddedDataSpecification{{}}}},
			"embeddedDataSpecifications[0].dataSpecificationContent", "is required"},
		{"element alone", newProperty("a-", "xs:int", "1"), "idShort", "AASd-002"},
		{"annotation", &aas.AnnotatedRelationshipElement{Annotations: []aas.Element{&aas.Capability{}}}, "annotations[0]", "data element"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := findings(c.v)
			require.NotEmpty(t, found)
			for _, f := range found {
				require.NotContains(t, f.Message, "\n")
			}
			require.True(t, has(found, c.field, c.message), "%v", found)
		})
	}
}

// A year may have any number of digits by XSD, but judging it costs more than their number.
func TestEndlessYearsAreRefused(t *testing.T) {
	year := strings.Repeat("9", 1_000_000)
	date, moment := year+"-01-01", year+"-01-01T00:00:00Z"
	p, m := newProperty("Date", "xs:date", date), newProperty("Moment", "xs:dateTime", moment)
	p.Qualifiers = []aas.Qualifier{{Type: "x", ValueType: "xs:date", Value: &date}}
	p.Extensions = []aas.Extension{{Name: "x", ValueType: "xs:date", Value: &date}}
	r := &aas.Range{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "Range"}}, ValueType: "xs:date", Min: &date, Max: &date}
	e := &aas.BasicEventElement{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "Event"}},
		Observed: aas.RefTo("x"), Direction: "input", State: "on", LastUpdate: moment}
	found := findings(newSubmodel(p, m, r, e))
	for _, field := range []string{"submodelElements[0].value", "submodelElements[0].qualifiers[0].value", "submodelElements[0].extensions[0].value",
		"submodelElements[1].value", "submodelElements[2].max", "submodelElements[3].lastUpdate"} {
		require.True(t, has(found, field, ""), "%s: %v", field, found)
	}
	require.Len(t, *p.Value, len(date), "what is verified stays as it is")
	require.Empty(t, findings(newProperty("Date", "xs:date", strings.Repeat("9", 900)+"-01-01")))
}

func has(findings []fault.Field, field, message string) bool {
	for _, f := range findings {
		if f.Field == field && strings.Contains(f.Message, message) {
			return true
		}
	}
	return false
}

func TestFindingsEndAtTheLimit(t *testing.T) {
	var many []aas.Element
	for range 500 {
		many = append(many, newProperty("1a", "xs:int", "x"))
	}
	require.Len(t, findings(newSubmodel(many...)), 100)
	require.Len(t, aas.Findings(newSubmodel(many...), 3), 3)
	require.Len(t, aas.Findings(newSubmodel(many...), 10_000), 1499)
}

// AASd-014 wants a global asset id or specific ones of a self-managed entity, and says nothing against both.
func TestAnEntityMayHaveBothKindsOfAssetIDs(t *testing.T) {
	e := &aas.Entity{EntityType: aas.SelfManagedEntity, GlobalAssetID: "urn:a", SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serial", Value: "1"}}}
	require.Empty(t, findings(e))
	e.SpecificAssetIDs[0].Name = ""
	require.True(t, has(findings(e), "specificAssetIds[0].name", "must have 1 to 64 characters"), "specific asset ids are looked at")
	found := findings(&aas.Entity{EntityType: aas.SelfManagedEntity})
	require.True(t, has(found, "globalAssetId", "SelfManagedEntity (AASd-014)"), "%v", found)
}

// A value of some megabytes is refused by its form, whatever its beginning is.
func TestVeryLongValuesAreFound(t *testing.T) {
	ones := strings.Repeat("1", 1<<20)
	for valueType, value := range map[aas.DataType]string{
		"xs:dateTime": "2026-01-01T00:00:00." + ones + "garbage", "xs:date": ones + "-01-01", "xs:duration": "P" + ones + "D",
		"xs:gYear": ones + "x", "xs:decimal": ones + ".x", "xs:double": ones + "e", "xs:integer": ones + "x",
	} {
		require.Len(t, findings(newProperty("aa", valueType, value)), 1, valueType)
	}
	require.Empty(t, findings(newProperty("aa", "xs:string", ones)))
	require.Empty(t, findings(newProperty("aa", "xs:integer", ones[:4096])))
	path := "/" + ones
	f := &aas.File{Value: &path, ContentType: "text/plain"}
	f.IDShort = "aa"
	require.Len(t, findings(f), 1)
}

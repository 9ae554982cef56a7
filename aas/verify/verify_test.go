package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/verify"
	"github.com/otkit/otkit/fault"
)

func property(idShort string, t aas.DataType, value string) *aas.Property {
	return &aas.Property{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: idShort}}, ValueType: t, Value: &value}
}

func submodel(elements ...aas.Element) *aas.Submodel {
	return &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:x"}, Elements: elements}
}

func collection(idShort string, elements ...aas.Element) *aas.Collection {
	return &aas.Collection{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: idShort}}, Value: elements}
}

func TestNothingIsFoundInWhatIsRight(t *testing.T) {
	v := verify.New(verify.Options{})
	require.Empty(t, v.Verify(&aas.Shell{
		Identifiable:     aas.Identifiable{ID: "urn:x", Referable: aas.Referable{IDShort: "Shell"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "urn:a"},
		Submodels:        []aas.Reference{aas.RefTo("urn:s")},
	}))
	require.Empty(t, v.Verify(submodel(property("aa", "xs:int", "1"), collection("bb", property("aa", "xs:string", "")))))
	require.Empty(t, v.Verify(&aas.ConceptDescription{Identifiable: aas.Identifiable{ID: "0173-1#02-AAO677#002"}}))
	require.Empty(t, v.Verify(property("aa", "xs:boolean", "true")))
	require.Empty(t, v.Verify(&aas.ShellDescriptor{ID: "urn:x"}), "what aas-core does not know")
	require.Empty(t, v.Verify(&aas.SubmodelDescriptor{ID: "urn:x"}))
}

func TestAConceptNeedsNoDefinition(t *testing.T) {
	c, err := aas.Decode[aas.ConceptDescription]([]byte(`{"id":"0173-1#02-BAA120#008","idShort":"MaxRotationSpeed","embeddedDataSpecifications":[
		{"dataSpecificationContent":{"preferredName":[{"language":"en","text":"max rotation speed"}],"unit":"1/min","valueFormat":"NR1..5"}}]}`))
	require.NoError(t, err)
	require.Empty(t, verify.New(verify.Options{}).Verify(c))
	c.EmbeddedDataSpecifications[0].Content.PreferredName[0].Language = "de"
	require.Len(t, verify.New(verify.Options{MaxFindings: 1}).Verify(c), 1, "other rules stay")
}

func TestAnIDShortOfOneLetterIsRight(t *testing.T) {
	v := verify.New(verify.Options{})
	s := submodel(property("a", "xs:int", "1"), property("A", "xs:int", "1"), collection("b", property("a", "xs:int", "1")))
	s.IDShort = "Z"
	require.Empty(t, v.Verify(s))
	require.Empty(t, v.Verify(property("x", "xs:int", "1")))
	require.Equal(t, "a", s.Elements[0].Common().IDShort, "what is verified is not changed")
	require.Len(t, v.Verify(submodel(property("a", "xs:int", "1"), property("a", "xs:int", "1"))), 1)
	for _, name := range []string{"1", "_", "-", "ä", "@", "["} {
		require.NotEmpty(t, v.Verify(property(name, "xs:int", "1")), name)
	}
}

func TestFindingsNameTheMemberAndTheConstraint(t *testing.T) {
	two := &aas.Reference{Type: "OtherReference", Keys: []aas.Key{{Type: aas.KeyGlobalReference, Value: "x"}}}
	for _, c := range []struct {
		name           string
		v              any
		field, message string
	}{
		{"equal idShorts", submodel(property("aa", "xs:int", "1"), property("aa", "xs:int", "2")), "submodelElements", "Constraint AASd-022"},
		{"idShort", submodel(collection("bb", property("ok", "xs:int", "1"), property("1a", "xs:int", "1"))), "submodelElements[0].value[1].idShort", "AASd-002"},
		{"value type", submodel(property("aa", "xs:int", "1.5")), "submodelElements[0].value", "Constraint AASd-020"},
		{"literal", submodel(property("aa", "xs:nothing", "1")), "$", "cannot be verified"},
		{"no asset id", &aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: aas.AssetInformation{AssetKind: aas.Type}}, "assetInformation", "AASd-131"},
		{"unknown asset kind", &aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: aas.AssetInformation{AssetKind: "Thing", GlobalAssetID: "x"}}, "assetInformation.assetKind", "one of the values"},
		{"empty id", &aas.ConceptDescription{}, "id", "must not be empty"},
		{"reference", &aas.Submodel{Identifiable: aas.Identifiable{ID: "x"}, Semantics: aas.Semantics{SemanticID: two}}, "semanticId.type", "one of the values"},
		{"specification", &aas.ConceptDescription{Identifiable: aas.Identifiable{ID: "x", EmbeddedDataSpecifications: []aas.EmbeddedDataSpecification{{}}}},
			"embeddedDataSpecifications[0].dataSpecification.keys", "at least one"},
		{"element alone", property("a-", "xs:int", "1"), "idShort", "AASd-002"},
		{"annotation", &aas.AnnotatedRelationshipElement{Annotations: []aas.Element{&aas.Capability{}}}, "annotations[0]", "data element"},
	} {
		t.Run(c.name, func(t *testing.T) {
			findings := verify.New(verify.Options{}).Verify(c.v)
			require.NotEmpty(t, findings)
			for _, f := range findings {
				require.NotContains(t, f.Message, "\n")
			}
			require.True(t, has(findings, c.field, c.message), "%v", findings)
		})
	}
}

// A year may have any number of digits by XSD, but judging it costs more than their number.
func TestEndlessYearsAreRefused(t *testing.T) {
	year := strings.Repeat("9", 1_000_000)
	date, moment := year+"-01-01", year+"-01-01T00:00:00Z"
	p, m := property("Date", "xs:date", date), property("Moment", "xs:dateTime", moment)
	p.Qualifiers = []aas.Qualifier{{Type: "x", ValueType: "xs:date", Value: &date}}
	p.Extensions = []aas.Extension{{Name: "x", ValueType: "xs:date", Value: &date}}
	r := &aas.Range{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "Range"}}, ValueType: "xs:date", Min: &date, Max: &date}
	e := &aas.BasicEventElement{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "Event"}},
		Observed: aas.RefTo("x"), Direction: "input", State: "on", LastUpdate: moment}
	findings := verify.New(verify.Options{}).Verify(submodel(p, m, r, e))
	for _, field := range []string{"submodelElements[0].value", "submodelElements[0].qualifiers[0].value", "submodelElements[0].extensions[0].value",
		"submodelElements[1].value", "submodelElements[2].max", "submodelElements[3].lastUpdate"} {
		require.True(t, has(findings, field, ""), "%s: %v", field, findings)
	}
	require.Len(t, *p.Value, len(date), "what is verified stays as it is")
	require.Empty(t, verify.New(verify.Options{}).Verify(property("Date", "xs:date", strings.Repeat("9", 900)+"-01-01")))
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
		many = append(many, property("1a", "xs:int", "x"))
	}
	require.Len(t, verify.New(verify.Options{}).Verify(submodel(many...)), 100)
	require.Len(t, verify.New(verify.Options{MaxFindings: 3}).Verify(submodel(many...)), 3)
	require.Len(t, verify.New(verify.Options{MaxFindings: -1}).Verify(submodel(many...)), 1001)
}

// AASd-014 wants a global asset id or specific ones of a self-managed entity, and says nothing against both.
func TestAnEntityMayHaveBothKindsOfAssetIDs(t *testing.T) {
	v := verify.New(verify.Options{})
	e := &aas.Entity{EntityType: aas.SelfManagedEntity, GlobalAssetID: "urn:a", SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serial", Value: "1"}}}
	require.Empty(t, v.Verify(e))
	e.SpecificAssetIDs[0].Name = ""
	require.True(t, has(v.Verify(e), "specificAssetIds[0].name", "must not be empty"), "specific asset ids are looked at")
	findings := v.Verify(&aas.Entity{EntityType: aas.SelfManagedEntity})
	require.True(t, has(findings, "globalAssetId", "set to SelfManagedEntity."), "%v", findings)
}

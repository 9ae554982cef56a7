package aas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

func TestCheckNamesPathAndConstraint(t *testing.T) {
	for _, f := range findings(submodel(t, everything)) {
		require.Contains(t, f.Message, "AASc-3a-010", "it has all members, even those that exclude each other")
	}
	for elements, want := range map[string]string{
		`{"modelType":"Capability","idShort":"a"},{"modelType":"Capability","idShort":"a"}`: "submodelElements[1].idShort must be unique among its siblings: a (AASd-022",
		`{"modelType":"Capability"}`:                "submodelElements[0].idShort is required (AASd-117)",
		`{"modelType":"Capability","idShort":"1a"}`: "submodelElements[0].idShort must be letters",
		`{"modelType":"Capability","idShort":"a-"}`: "(AASd-002)",
		`{"modelType":"SubmodelElementCollection","idShort":"c","value":[{"modelType":"Property","idShort":"p","valueType":"xs:int","value":"x"}]}`:                                            "submodelElements[0].value[0].value must be in the lexical form of xs:int",
		`{"modelType":"Range","idShort":"r","valueType":"xs:int","min":"1.5"}`:                                                                                                                 "submodelElements[0].min must be in the lexical form of xs:int",
		`{"modelType":"SubmodelElementList","idShort":"l","typeValueListElement":"Property","value":[]}`:                                                                                       "submodelElements[0].valueTypeListElement is required (AASd-109)",
		`{"modelType":"SubmodelElementList","idShort":"l","typeValueListElement":"Capability","value":[{"modelType":"Operation"}]}`:                                                            "submodelElements[0].value[0] must be Capability (AASd-108)",
		`{"modelType":"Entity","idShort":"e","entityType":"SelfManagedEntity"}`:                                                                                                                "(AASd-014)",
		`{"modelType":"Operation","idShort":"o","inputVariables":[{"value":{"modelType":"Capability","idShort":"a"}}],"outputVariables":[{"value":{"modelType":"Capability","idShort":"a"}}]}`: "submodelElements[0].outputVariables[0].value.idShort must be unique",
		`{"modelType":"Capability","idShort":"a","semanticId":{"type":"ExternalReference","keys":[]}}`:                                                                                         "submodelElements[0].semanticId.keys must have at least one key",
		`{"modelType":"Capability","idShort":"a","supplementalSemanticIds":[` + ref + `]}`:                                                                                                     "(AASd-118)",
		`{"modelType":"Capability","idShort":"a","qualifiers":[{"type":"q","valueType":"xs:int","value":"x"}]}`:                                                                                "submodelElements[0].qualifiers[0].value must be in the lexical form of xs:int (AASd-020)",
	} {
		err := submodel(t, `{"modelType":"Submodel","id":"x","submodelElements":[`+elements+`]}`).Validate()
		require.ErrorIs(t, err, aas.ErrInvalidRequest, elements)
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, new(aas.Submodel).Validate(), "id must have 1 to 2048 characters")
	require.ErrorContains(t, (&aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: aas.AssetInformation{AssetKind: aas.Instance}}).Validate(), "(AASd-131)")
	require.NoError(t, aas.ValidateElement(element(t, `{"modelType":"Property","valueType":"xs:int","value":"1"}`)))
	require.ErrorContains(t, aas.ValidateElement(element(t, `{"modelType":"Property","valueType":"xs:int","value":"x"}`)), "value must be")
}

func TestCheckBoundsItsFindings(t *testing.T) {
	s := &aas.Submodel{Identifiable: aas.Identifiable{ID: "x"}}
	for range 1000 {
		s.Elements = append(s.Elements, &aas.Capability{})
	}
	e, ok := fault.From(s.Validate())
	require.True(t, ok)
	require.Len(t, e.Fields, 100)
}

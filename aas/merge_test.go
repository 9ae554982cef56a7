package aas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func TestMetadataHasNoValues(t *testing.T) {
	s := submodel(t, everything)
	metadata := submodel(t, string(aas.AppendMetadata(nil, s, aas.View{})))
	bare := *s
	bare.Elements = nil
	require.Equal(t, &bare, metadata)
	for name, want := range map[string]string{
		"p":   `{"modelType":"Property","idShort":"p","valueType":"xs:int"}`,
		"m":   `{"modelType":"MultiLanguageProperty","idShort":"m"}`,
		"r":   `{"modelType":"Range","idShort":"r","valueType":"xs:double"}`,
		"re":  `{"modelType":"ReferenceElement","idShort":"re"}`,
		"rel": `{"modelType":"RelationshipElement","idShort":"rel"}`,
		"ann": `{"modelType":"AnnotatedRelationshipElement","idShort":"ann"}`,
		"b":   `{"modelType":"Blob","idShort":"b"}`,
		"f":   `{"modelType":"File","idShort":"f"}`,
		"c":   `{"modelType":"SubmodelElementCollection","idShort":"c"}`,
		"l":   `{"modelType":"SubmodelElementList","idShort":"l","orderRelevant":false,"semanticIdListElement":` + ref + `,"typeValueListElement":"Property","valueTypeListElement":"xs:string"}`,
		"e":   `{"modelType":"Entity","idShort":"e"}`,
		"op":  `{"modelType":"Operation","idShort":"op"}`,
		"cap": `{"modelType":"Capability","idShort":"cap"}`,
		"ev":  `{"modelType":"BasicEventElement","idShort":"ev","direction":"output","state":"on","messageTopic":"t","messageBroker":` + modelRef + `,"lastUpdate":"2024-01-01T00:00:00Z","minInterval":"PT1S","maxInterval":"PT2S"}`,
	} {
		e, err := s.Element(path(t, name))
		require.NoError(t, err)
		require.JSONEq(t, want, string(aas.AppendElementMetadata(nil, e, aas.View{})), name)
	}
}

func TestApplyMetadataKeepsValues(t *testing.T) {
	s := submodel(t, everything)
	values := string(aas.AppendValue(nil, s, aas.View{}))
	require.NoError(t, aas.ApplyMetadata(s, []byte(`{"modelType":"Submodel","id":"urn:s","idShort":"Renamed","semanticId":`+modelRef+`,"submodelElements":[5]}`)))
	require.Equal(t, "Renamed", s.IDShort)
	require.Equal(t, aas.ModelReference, s.SemanticID.Type)
	require.NotEmpty(t, s.Qualifiers, "what is not in the patch stays")
	require.NoError(t, aas.ApplyElementMetadata(s.Elements[0], []byte(`{"modelType":"Property","idShort":"p","category":"VARIABLE","value":"9"}`)))
	require.Equal(t, "VARIABLE", s.Elements[0].Common().Category)
	require.JSONEq(t, values, string(aas.AppendValue(nil, s, aas.View{})))
	require.ErrorContains(t, aas.ApplyMetadata(s, []byte(`{"id":"urn:other"}`)), "id must be the id of the submodel")
	require.ErrorContains(t, aas.ApplyElementMetadata(s.Elements[0], []byte(`{"modelType":"Range"}`)), "modelType must be Property")
}

func TestMergeReplacesWhatIsInThePatch(t *testing.T) {
	s := submodel(t, everything)
	require.NoError(t, aas.MergeSubmodel(s, []byte(`{"description":[{"language":"en","text":"new"}],"submodelElements":[
		{"idShort":"c","value":[{"idShort":"deeper","category":"CONSTANT","modelType":"SubmodelElementCollection"},{"idShort":"inner","value":"false"}]},
		{"idShort":"l","value":[{"value":"eins"}]},
		{"idShort":"op","inputVariables":[{"value":{"modelType":"Capability","idShort":"other"}}]},
		{"idShort":"p","qualifiers":[{"type":"t","valueType":"xs:int"}]}]}`)))
	want := submodel(t, everything)
	want.Description = []aas.LangString{{Language: "en", Text: "new"}}
	want.Elements[0].Common().Qualifiers = []aas.Qualifier{{Type: "t", ValueType: aas.Int}}
	inner, err := want.Element(path(t, "c.inner"))
	require.NoError(t, err)
	*inner.(*aas.Property).Value = "false"
	deeper, err := want.Element(path(t, "c.deeper"))
	require.NoError(t, err)
	deeper.Common().Category = "CONSTANT"
	first, err := want.Element(path(t, "l[0]"))
	require.NoError(t, err)
	*first.(*aas.Property).Value = "eins"
	operation, err := want.Element(path(t, "op"))
	require.NoError(t, err)
	operation.(*aas.Operation).InputVariables = []aas.Element{element(t, `{"modelType":"Capability","idShort":"other"}`)}
	require.Equal(t, text(t, want), text(t, s))
}

func TestRefusedPatchesChangeNothing(t *testing.T) {
	s := submodel(t, everything)
	before := text(t, s)
	for _, patch := range []string{
		`{"idShort":"x","submodelElements":[{"idShort":"p","modelType":"Range"}]}`,
		`{"idShort":"x","submodelElements":[{"idShort":"c","value":[{"idShort":"inner","valueType":"xs:nothing"}]}]}`,
		`{"idShort":"x","submodelElements":[{"category":"y"}]}`,
		`{"idShort":"x","submodelElements":[5]}`,
		`{"idShort":"x","submodelElements":[{"idShort":"op","inputVariables":[{"value":{"idShort":"in"}}]}]}`,
		`{"idShort":"x"`, `5`,
	} {
		require.ErrorIs(t, aas.MergeSubmodel(s, []byte(patch)), aas.ErrInvalidRequest, patch)
		require.Equal(t, before, text(t, s))
	}
	for _, patch := range []string{
		`{"idShort":"x","submodelElements":[{"idShort":"new","modelType":"Capability"}]}`,
		`{"idShort":"x","submodelElements":[{"idShort":"l","value":[{},{},{}]}]}`,
	} {
		require.ErrorIs(t, aas.MergeSubmodel(s, []byte(patch)), aas.ErrElementNotFound, patch)
		require.Equal(t, before, text(t, s))
	}
	require.ErrorContains(t, aas.MergeElement(s.Elements[0], []byte(`{"idShort":"q"}`)), "must be the idShort of the element")
	require.Equal(t, before, text(t, s))
}

package repository_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

func decodeSubmodel(t testing.TB, elements string) *aas.Submodel {
	t.Helper()
	m, err := aas.Decode[aas.Submodel]([]byte(`{"id":"urn:m","idShort":"Mm","submodelElements":[` + elements + `]}`))
	require.NoError(t, err)
	return m
}

func TestNamesInAllNameSpacesAreVerified(t *testing.T) {
	s := newService(t, repository.Options{})
	for name, elements := range map[string]string{
		"statements":  `{"modelType":"Entity","idShort":"ee","entityType":"CoManagedEntity","statements":[{"modelType":"Capability","idShort":"aa"},{"modelType":"Capability","idShort":"aa"}]}`,
		"variables":   `{"modelType":"Operation","idShort":"op","inputVariables":[{"value":{"modelType":"Capability","idShort":"aa"}}],"outputVariables":[{"value":{"modelType":"Capability","idShort":"aa"}}]}`,
		"no idShort":  `{"modelType":"SubmodelElementCollection","idShort":"cc","value":[{"modelType":"Capability"}]}`,
		"annotations": `{"modelType":"AnnotatedRelationshipElement","idShort":"cc","annotations":[{"modelType":"Range","valueType":"xs:int","idShort":"aa"},{"modelType":"Range","valueType":"xs:int","idShort":"aa"}]}`,
	} {
		_, err := s.Submodels.Create(t.Context(), decodeSubmodel(t, elements))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, name)
	}
	_, err := s.Submodels.Create(t.Context(), newSubmodel("urn:m", "bad-"))
	refused, _ := fault.From(err)
	require.Len(t, refused.Fields, 1, "%v", refused.Fields)
}

func TestDescriptorsAreVerified(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	endpoint := aas.Endpoint{Interface: "AAS-3.1", Protocol: aas.ProtocolInformation{Href: "https://example.com"}}
	_, err := s.ShellDescriptors.Create(ctx, &aas.ShellDescriptor{ID: "urn:a", IDShort: "Pump", AssetKind: aas.Instance, Endpoints: []aas.Endpoint{endpoint}})
	require.NoError(t, err)
	_, err = s.SubmodelDescriptors.Create(ctx, &aas.SubmodelDescriptor{ID: "urn:m", Endpoints: []aas.Endpoint{endpoint}})
	require.NoError(t, err)
	_, err = s.ShellDescriptors.Create(ctx, &aas.ShellDescriptor{
		ID: "urn:b", IDShort: "9 bad idShort!", AssetKind: "Nonsense", Endpoints: []aas.Endpoint{{}},
		SpecificAssetIDs: []aas.SpecificAssetID{{Name: "n"}}, SubmodelDescriptors: []aas.SubmodelDescriptor{{}},
	})
	refused, _ := fault.From(err)
	var fields []string
	for _, f := range refused.Fields {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{
		"idShort", "assetKind", "specificAssetIds[0].value", "endpoints[0].interface", "endpoints[0].protocolInformation.href",
		"submodelDescriptors[0].id", "submodelDescriptors[0].endpoints",
	}, fields)
	_, err = s.SubmodelDescriptors.Create(ctx, &aas.SubmodelDescriptor{ID: "urn:n"})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
}

// A document that was let in can be changed where documents are verified strictly, but not made worse.
func TestWhatWasBrokenBeforeCanBeChanged(t *testing.T) {
	store := repository.NewMemory()
	lenient, err := repository.New(store, repository.Options{Verification: repository.VerifyPermissive})
	require.NoError(t, err)
	s, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	broken := decodeSubmodel(t, `{"modelType":"Property","idShort":"x-","valueType":"xs:int","value":"1"},
		{"modelType":"Property","idShort":"gone","valueType":"xs:int","value":"1"},{"modelType":"Property","idShort":"kept","valueType":"xs:int","value":"1"},
		{"modelType":"Property","idShort":"y-","valueType":"xs:int","value":"no number"}`)
	_, err = lenient.Submodels.Create(ctx, broken)
	require.NoError(t, err)
	any := repository.Match{}

	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "gone"), any)
	require.NoError(t, err)
	_, err = s.SetValue(ctx, "urn:m", nil, []byte(`{"kept":2}`), any)
	require.NoError(t, err)
	_, err = s.SetValue(ctx, "urn:m", parsePath(t, "x-"), []byte(`3`), any)
	require.NoError(t, err, "its idShort was as it is")
	_, err = s.InsertElement(ctx, "urn:m", nil, property("new", "1"), any)
	require.NoError(t, err)
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "kept"), []byte(`{"category":"VARIABLE"}`), any)
	require.NoError(t, err)

	_, err = s.InsertElement(ctx, "urn:m", nil, property("z-", "1"), any)
	refused, _ := fault.From(err)
	require.Len(t, refused.Fields, 1, "only what is added is told")
	_, err = s.PatchElement(ctx, "urn:m", parsePath(t, "kept"), []byte(`{"value":"no number"}`), any)
	require.ErrorIs(t, err, aas.ErrInvalidRequest)
	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Equal(t, "2", *m.Elements[1].(*aas.Property).Value)
	_, _, err = s.Submodels.Put(ctx, m, any)
	require.ErrorIs(t, err, aas.ErrInvalidRequest, "a whole document is verified as a whole")
}

// What is broken stays with the element that it is about, whatever its place.
func TestABrokenElementExcusesNoOther(t *testing.T) {
	const text = `{"modelType":"SubmodelElementCollection","idShort":"Cc","value":[{"modelType":"Property","idShort":"Aa1","valueType":"xs:int","value":"x"},
		{"modelType":"Property","idShort":"Aa2","valueType":"xs:int","value":"1"}]},
		{"modelType":"Operation","idShort":"Oo","inputVariables":[{"value":{"modelType":"Property","idShort":"In1","valueType":"xs:int","value":"x"}},
			{"value":{"modelType":"Property","idShort":"In2","valueType":"xs:int","value":"1"}}]}`
	store, ctx := repository.NewMemory(), t.Context()
	lenient, err := repository.New(store, repository.Options{Verification: repository.VerifyOff})
	require.NoError(t, err)
	s, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	_, err = lenient.Submodels.Create(ctx, decodeSubmodel(t, text))
	require.NoError(t, err)
	swap := func(a, b aas.Element) {
		a.(*aas.Property).Value, b.(*aas.Property).Value = b.(*aas.Property).Value, a.(*aas.Property).Value
	}
	change := func(fn func(m *aas.Submodel)) *fault.Error {
		_, err := s.Submodels.Update(ctx, "urn:m", repository.Match{}, func(m *aas.Submodel) error { fn(m); return nil })
		refused, _ := fault.From(err)
		return refused
	}

	refused := change(func(m *aas.Submodel) {
		c := m.Elements[0].(*aas.Collection)
		swap(c.Value[0], c.Value[1])
	})
	require.Len(t, refused.Fields, 1)
	require.Equal(t, "submodelElements[0].value[1].value", refused.Fields[0].Field)
	refused = change(func(m *aas.Submodel) {
		o := m.Elements[1].(*aas.Operation)
		swap(o.InputVariables[0], o.InputVariables[1])
	})
	require.Len(t, refused.Fields, 1)
	require.Equal(t, "submodelElements[1].inputVariables[1].value.value", refused.Fields[0].Field)
	require.Nil(t, change(func(m *aas.Submodel) {
		c := m.Elements[0].(*aas.Collection)
		c.Value[0], c.Value[1] = c.Value[1], c.Value[0]
		m.Elements[0], m.Elements[1] = m.Elements[1], m.Elements[0]
	}), "their order is no matter")
}

type verifierFunc func(v any) []fault.Field

func (f verifierFunc) Verify(v any) []fault.Field { return f(v) }

// A member that breaks several rules is told of by each of them, and once of what two find.
func TestEveryFindingOfAMemberIsTold(t *testing.T) {
	const at = "idShort"
	told := []fault.Field{{Field: at, Message: "has a blank"}, {Field: at, Message: "is too long"}, {Field: at, Message: "is too long"}}
	s := newService(t, repository.Options{Verifier: verifierFunc(func(any) []fault.Field { return told })})
	_, err := s.Submodels.Create(t.Context(), newSubmodel("urn:m", "Mm"))
	refused, _ := fault.From(err)
	require.Equal(t, told[:2], refused.Fields)
}

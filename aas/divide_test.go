package aas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func TestDividedPartsMakeUpTheSubmodel(t *testing.T) {
	s, err := aas.Decode[aas.Submodel]([]byte(`{"id":"urn:m","idShort":"submodelElements","unknown":{"submodelElements":[1]},"submodelElements":[
		{"modelType":"Property","idShort":"Aa","valueType":"xs:string","value":"]}, \"idShort\":\"Bb\""},
		{"modelType":"SubmodelElementCollection","idShort":"Cc","value":[{"modelType":"Capability","idShort":"Aa"}]},
		{"modelType":"Capability","idShort":"Dd"}]}`))
	require.NoError(t, err)
	text := aas.Append(nil, s)
	d, ok := aas.Divide(text)
	require.True(t, ok)
	joined, names := string(d.Head), []string{}
	for i, e := range d.Elements {
		if i > 0 {
			joined += ","
		}
		joined, names = joined+string(e.JSON), append(names, e.IDShort)
		element, err := aas.DecodeElement(e.JSON)
		require.NoError(t, err)
		require.Equal(t, s.Elements[i], element)
	}
	require.Equal(t, string(text), joined+string(d.Tail))
	require.Equal(t, []string{"Aa", "Cc", "Dd"}, names)

	_, ok = aas.Divide([]byte(`{"modelType":"Submodel","id":"urn:m"}`))
	require.False(t, ok)
}

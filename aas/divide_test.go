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

func TestCountEntries(t *testing.T) {
	for text, n := range map[string]int{
		`{}`: 0, `{"a":[ ],"b":1,"c":"[1,2"}`: 0, `{"a":[1],"b":[{"c":[1,2],"d":3} , [ "x\"]" ] ]}`: 6, `[[],[[]]]`: 3,
	} {
		require.Equal(t, n, aas.CountEntries([]byte(text)), text)
	}
}

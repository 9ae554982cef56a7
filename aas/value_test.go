package aas_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func submodel(t testing.TB, text string) *aas.Submodel {
	t.Helper()
	s, err := aas.Decode[aas.Submodel]([]byte(text))
	require.NoError(t, err)
	return s
}

func element(t testing.TB, text string) aas.Element {
	t.Helper()
	e, err := aas.DecodeElement([]byte(text))
	require.NoError(t, err)
	return e
}

func path(t testing.TB, text string) aas.Path {
	t.Helper()
	p, err := aas.ParsePath(text)
	require.NoError(t, err)
	return p
}

func text(t testing.TB, s *aas.Submodel) string {
	t.Helper()
	return string(aas.Append(nil, s))
}

// The values are those of IDTA-01001, clause "Format Value"; Entity follows the schema there, since the
// example beside it has globalAssetId as a reference.
func TestValuesOfEveryKind(t *testing.T) {
	s := submodel(t, everything)
	require.JSONEq(t, `{
		"p": 5,
		"m": [{"de":"Hallo"}],
		"r": {"min":1.5,"max":"INF"},
		"re": `+ref+`,
		"rel": {"first":`+ref+`,"second":`+ref+`},
		"ann": {"first":`+ref+`,"second":`+ref+`,"annotations":{"why":"so"}},
		"b": {"contentType":"application/octet-stream","value":"AAEC/w=="},
		"f": {"contentType":"application/pdf","value":"/aasx/a.pdf"},
		"c": {"inner":true,"deeper":{}},
		"l": ["one","two"],
		"e": {"statements":{"st":7.50},"entityType":"SelfManagedEntity","globalAssetId":"urn:a","specificAssetIds":[{"semanticId":`+ref+`,"name":"n","value":"v","externalSubjectId":`+ref+`}]},
		"ev": {"observed":`+modelRef+`}
	}`, string(aas.AppendValue(nil, s, aas.View{Extent: aas.WithBlobValue})))

	core := string(aas.AppendValue(nil, s, aas.View{Level: aas.Core}))
	var values map[string]any
	require.NoError(t, json.Unmarshal([]byte(core), &values))
	require.Equal(t, map[string]any{}, values["c"])
	require.Equal(t, []any{}, values["l"])
	require.NotContains(t, values["e"], "statements")
	require.NotContains(t, values["ann"], "annotations")
	require.Equal(t, map[string]any{"contentType": "application/octet-stream"}, values["b"])
}

func TestValueOfOneElement(t *testing.T) {
	for _, c := range []struct{ element, want string }{
		{`{"modelType":"Property","valueType":"xs:int","value":"5000"}`, `5000`},
		{`{"modelType":"Property","valueType":"xs:string","value":"5000"}`, `"5000"`},
		{`{"modelType":"Property","valueType":"xs:integer","value":"126789675432332938792837429837429837429"}`, `126789675432332938792837429837429837429`},
		{`{"modelType":"Property","valueType":"xs:decimal","value":"+007"}`, `7`},
		{`{"modelType":"Property","valueType":"xs:decimal","value":"-.50"}`, `-0.50`},
		{`{"modelType":"Property","valueType":"xs:double","value":"-0E+2"}`, `-0E+2`},
		{`{"modelType":"Property","valueType":"xs:double","value":"NaN"}`, `"NaN"`},
		{`{"modelType":"Property","valueType":"xs:boolean","value":"1"}`, `true`},
		{`{"modelType":"Property","valueType":"xs:int","value":"not one"}`, `"not one"`},
		{`{"modelType":"Property","valueType":"xs:int"}`, `null`},
		{`{"modelType":"Capability"}`, `null`},
		{`{"modelType":"Operation"}`, `null`},
		{`{"modelType":"SubmodelElementList","typeValueListElement":"Operation","value":[{"modelType":"Operation"}]}`, `null`},
		{`{"modelType":"SubmodelElementList","typeValueListElement":"Property","value":[{"modelType":"Property","valueType":"xs:int"},{"modelType":"Property","valueType":"xs:int","value":"1"}]}`, `[null,1]`},
		{`{"modelType":"Blob","contentType":"a/b","value":"AAEC"}`, `{"contentType":"a/b"}`},
	} {
		require.Equal(t, c.want, string(aas.AppendElementValue(nil, element(t, c.element), aas.View{})), c.element)
	}
}

func TestSetValues(t *testing.T) {
	s := submodel(t, everything)
	require.NoError(t, aas.SetValues(s, []byte(`{
		"p": -7,
		"m": [{"de":"Tschüss"},{"en":"Bye"}],
		"r": {"max":2e3},
		"re": `+modelRef+`,
		"rel": {"second":`+modelRef+`},
		"ann": {"annotations":[{"why":"because"}]},
		"b": {"contentType":"text/plain","value":"QUJD"},
		"f": {"value":"/b.pdf"},
		"c": {"inner":false},
		"l": [null,"zwei"],
		"e": {"statements":{"st":1.25},"globalAssetId":"urn:b"},
		"ev": {"observed":`+ref+`}
	}`)))
	require.JSONEq(t, `{
		"p": -7,
		"m": [{"de":"Tschüss"},{"en":"Bye"}],
		"r": {"min":1.5,"max":2e3},
		"re": `+modelRef+`,
		"rel": {"first":`+ref+`,"second":`+modelRef+`},
		"ann": {"first":`+ref+`,"second":`+ref+`,"annotations":{"why":"because"}},
		"b": {"contentType":"text/plain","value":"QUJD"},
		"f": {"contentType":"application/pdf","value":"/b.pdf"},
		"c": {"inner":false,"deeper":{}},
		"l": ["one","zwei"],
		"e": {"statements":{"st":1.25},"entityType":"SelfManagedEntity","globalAssetId":"urn:b","specificAssetIds":[{"semanticId":`+ref+`,"name":"n","value":"v","externalSubjectId":`+ref+`}]},
		"ev": {"observed":`+ref+`}
	}`, string(aas.AppendValue(nil, s, aas.View{Extent: aas.WithBlobValue})))
	p, err := s.Element(path(t, "p"))
	require.NoError(t, err)
	require.Equal(t, "-7", *p.(*aas.Property).Value)
}

func TestRefusedValuesChangeNothing(t *testing.T) {
	s := submodel(t, everything)
	before := text(t, s)
	for values, want := range map[string]string{
		`{"p":1,"c":{"inner":"maybe"}}`:  "c.inner must be in the lexical form of xs:boolean",
		`{"p":1.5}`:                      "p must be in the lexical form of xs:int",
		`{"p":2147483648}`:               "p must be in the lexical form of xs:int",
		`{"p":true}`:                     "p must be a value of xs:int",
		`{"p":null}`:                     "p must be a value of xs:int",
		`{"p":1,"l":["a",5]}`:            "l[1] must be a value of xs:string",
		`{"p":1,"l":{"a":5}}`:            "l must be an array",
		`{"p":1,"c":5}`:                  "c must be an object",
		`{"p":1,"op":{}}`:                "op has no value: it is of kind Operation",
		`{"p":1,"cap":1}`:                "cap has no value: it is of kind Capability",
		`{"p":1,"r":{"mid":1}}`:          "r.mid is no part of the value of a Range",
		`{"p":1,"e":{"entityType":"x"}}`: "e.entityType is none of the words",
		`{"p":1`:                         "is not valid JSON",
		`[1]`:                            "the document must be an object",
	} {
		err := aas.SetValues(s, []byte(values))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, values)
		require.ErrorContains(t, err, want)
		require.Equal(t, before, text(t, s), values)
	}
	for _, values := range []string{`{"p":1,"other":2}`, `{"p":1,"c":{"other":2}}`, `{"p":1,"l":["a","b","c"]}`} {
		require.ErrorIs(t, aas.SetValues(s, []byte(values)), aas.ErrElementNotFound, values)
		require.Equal(t, before, text(t, s), values)
	}
	p := s.Elements[0]
	require.ErrorIs(t, aas.SetElementValue(p, []byte(`"x"`)), aas.ErrInvalidRequest)
	require.Equal(t, before, text(t, s))
	require.NoError(t, aas.SetElementValue(p, []byte(`"12"`)))
	require.Equal(t, "12", *p.(*aas.Property).Value)
}

func FuzzSetValues(f *testing.F) {
	for _, seed := range []string{
		`{"p":5,"m":[{"de":"x"}],"r":{"min":1,"max":"INF"}}`, `{"l":[null,"b"],"c":{"inner":true},"e":{"statements":{"st":1.5}}}`,
		`{"b":{"value":"QUJD"},"ann":{"annotations":[{"why":"x"}]}}`, `{"ev":{"observed":` + modelRef + `}}`,
	} {
		f.Add([]byte(seed))
	}
	s := submodel(f, everything)
	before := text(f, s)
	f.Fuzz(func(t *testing.T, data []byte) {
		changed := *s
		if err := aas.SetValues(&changed, data); err == nil {
			require.True(t, json.Valid(data), "accepted what is not JSON")
			value := aas.AppendValue(nil, &changed, aas.View{Extent: aas.WithBlobValue})
			again := changed
			require.NoError(t, aas.SetValues(&again, value), "what is read can be written")
			require.Equal(t, string(value), string(aas.AppendValue(nil, &again, aas.View{Extent: aas.WithBlobValue})))
		}
		require.Equal(t, before, text(t, s), "the original is not touched")
	})
}

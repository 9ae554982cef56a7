package aas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
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
		"e": {"statements":{"st":7.50},"entityType":"SelfManagedEntity","globalAssetId":"urn:a","specificAssetIds":[{"n":"v"}]},
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
		"e": {"statements":{"st":1.25},"entityType":"SelfManagedEntity","globalAssetId":"urn:b","specificAssetIds":[{"n":"v"}]},
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
		`{"p":1,"c":{"inner":"maybe"}}`:   "c.inner must be in the lexical form of xs:boolean",
		`{"p":1.5}`:                       "p must be in the lexical form of xs:int",
		`{"p":2147483648}`:                "p must be in the lexical form of xs:int",
		`{"p":true}`:                      "p must be a value of xs:int",
		`{"p":1.0e-1}`:                    "p must be in the lexical form of xs:int",
		`{"p":1e10}`:                      "p must be in the lexical form of xs:int",
		`{"p":1e999999999999}`:            "p must be in the lexical form of xs:int",
		`{"c":null}`:                      "c must be an object",
		`{"e":{"specificAssetIds":[{}]}}`: "e.specificAssetIds[0].name is required",
		`{"p":1,"l":["a",5]}`:             "l[1] must be a value of xs:string",
		`{"p":1,"l":{"a":5}}`:             "l must be an array",
		`{"p":1,"c":5}`:                   "c must be an object",
		`{"p":1,"op":{}}`:                 "op has no value: it is of kind Operation",
		`{"p":1,"cap":1}`:                 "cap has no value: it is of kind Capability",
		`{"p":1,"r":{"mid":1}}`:           "r.mid is no part of the value of a Range",
		`{"p":1,"e":{"entityType":"x"}}`:  "e.entityType is not one of the allowed values",
		`{"p":1,"other":2}`:               "other is no element that is there",
		`{"p":1,"p":2}`:                   "p is a duplicate",
		`{"m":{"de":"a","de":"b"}}`:       "m.de is a duplicate",
		`{"m":[{"de":"a","de":"b"}]}`:     "m[0].de is a duplicate",
		`{"p":1,"c":{"other":2}}`:         "c.other is no element that is there",
		`{"p":1,"l":["a","b","c"]}`:       "l[2] is more than the list has, which is 2",
		`{"p":1`:                          "is not valid JSON",
		`[1]`:                             "the document must be an object",
	} {
		err := aas.SetValues(s, []byte(values))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, values)
		require.ErrorContains(t, err, want)
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

// A client may write a number as its JSON library does.
func TestNumbersInOtherForms(t *testing.T) {
	for _, c := range []struct {
		valueType   aas.DataType
		given, want string // an empty want is refused
	}{
		{"xs:decimal", "1e3", "1000"}, {"xs:decimal", "-1.250E+1", "-12.5"}, {"xs:decimal", "12e-4", "0.0012"}, {"xs:decimal", "1.50", "1.50"},
		{"xs:int", "5.0", "5"}, {"xs:int", "-0.0", "0"}, {"xs:int", "1.25e2", "125"}, {"xs:int", "100e-2", "1"}, {"xs:unsignedByte", "-0", "0"},
		{"xs:integer", "1e30", "1000000000000000000000000000000"}, {"xs:double", "1e3", "1e3"}, {"xs:double", "5.0", "5.0"},
		{"xs:int", "5.5", ""}, {"xs:int", "1e-1", ""}, {"xs:byte", "1e3", ""}, {"xs:positiveInteger", "0.0", ""}, {"xs:unsignedInt", "-1.0", ""},
		{"xs:integer", "1e1000000", ""}, {"xs:decimal", "1e-99999999999999999999", ""}, {"xs:string", "5", ""},
	} {
		p := &aas.Property{ValueType: c.valueType}
		err := aas.SetElementValue(p, []byte(c.given))
		if c.want == "" {
			require.ErrorIs(t, err, aas.ErrInvalidRequest, "%+v", c)
			require.Nil(t, p.Value)
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c.want, *p.Value, "%+v", c)
		require.ErrorIs(t, aas.SetElementValue(&aas.Property{ValueType: aas.Int}, []byte(`"1e3"`)), aas.ErrInvalidRequest, "a string is in the lexical form")
	}
}

func TestNullTakesValuesAway(t *testing.T) {
	s := submodel(t, everything)
	require.NoError(t, aas.SetValues(s, []byte(`{"p":null,"m":null,"r":{"min":null},"re":null,"f":{"value":null},"l":[null]}`)))
	values := aas.AppendValue(nil, s, aas.View{})
	var got map[string]any
	require.NoError(t, json.Unmarshal(values, &got))
	for _, name := range []string{"p", "m", "re"} {
		require.NotContains(t, got, name)
	}
	require.Equal(t, map[string]any{"max": "INF"}, got["r"])
	require.Equal(t, map[string]any{"contentType": "application/pdf"}, got["f"])
	require.Equal(t, []any{"one", "two"}, got["l"])
	for _, e := range s.Elements[:4] { // what is read can be written back
		require.NoError(t, aas.SetElementValue(e, aas.AppendElementValue(nil, e, aas.View{})), e.Common().IDShort)
	}
	require.NoError(t, aas.SetValues(s, []byte(`{"f":{"value":"/x.pdf"}}`)))
	file, err := s.Element(path(t, "f"))
	require.NoError(t, err)
	require.NoError(t, aas.SetElementValue(file, []byte(`null`)))
	require.Nil(t, file.(*aas.File).Value)
	require.NoError(t, aas.SetValues(s, []byte(`{"r":null}`)))
	r, err := s.Element(path(t, "r"))
	require.NoError(t, err)
	require.False(t, aas.HasValue(r))
}

// SpecificAssetIdValue of the part 2 schemas is an object of one name and its value.
func TestAssetIDsAsValues(t *testing.T) {
	e := element(t, `{"modelType":"Entity","entityType":"SelfManagedEntity","specificAssetIds":[
		{"name":"sn","value":"1","externalSubjectId":`+ref+`},{"name":"sn","value":"2"},{"name":"name","value":"x"}]}`)
	require.JSONEq(t, `{"entityType":"SelfManagedEntity","specificAssetIds":[{"sn":"1"},{"sn":"2"},{"name":"x"}]}`, string(aas.AppendElementValue(nil, e, aas.View{})))
	require.NoError(t, aas.SetElementValue(e, []byte(`{"specificAssetIds":[{"sn":"9"},{"name":"y"},{"name":"whole","value":"form"},{"value":"v","name":"n"},{"semanticId":`+ref+`,"name":"a","value":"b"},{"new":"n"}]}`)))
	ids := e.(*aas.Entity).SpecificAssetIDs
	require.Len(t, ids, 6)
	require.NotNil(t, ids[0].ExternalSubjectID, "what its value form does not say stays")
	require.NotNil(t, ids[4].SemanticID)
	var names []string
	for _, id := range ids {
		names = append(names, id.Name+"="+id.Value)
	}
	require.Equal(t, []string{"sn=9", "name=y", "whole=form", "n=v", "a=b", "new=n"}, names)
	for _, bad := range []string{`[{}]`, `[{"a":1}]`, `[{"a":"b","c":"d"}]`, `[{"":"x"}]`, `{"a":"b"}`, `[{"a":"b"`, `["a"]`} {
		require.ErrorIs(t, aas.SetElementValue(e, []byte(`{"specificAssetIds":`+bad+`}`)), aas.ErrInvalidRequest, bad)
	}
}

func TestVeryLongFormsAreRefused(t *testing.T) {
	digits := strings.Repeat("1", 4<<20)
	for valueType, text := range map[aas.DataType]string{
		aas.Duration: "P" + digits + "D", aas.Date: digits + "-01-01", aas.DateTime: "2026-01-01T00:00:00." + digits, aas.Time: "00:00:00." + digits,
		aas.GYear: digits, aas.GYearMonth: digits + "-01", aas.GDay: "---" + digits, aas.GMonth: "--" + digits, aas.GMonthDay: "--01-" + digits,
		aas.Integer: digits, aas.NegativeInteger: "-" + digits, aas.Decimal: digits + ".5", aas.Double: "0." + digits, aas.Float: "0." + digits,
		aas.Int: digits, aas.UnsignedLong: digits,
	} {
		require.ErrorIs(t, aas.ValidateLexical(valueType, text), aas.ErrInvalidRequest, valueType)
	}
	require.NoError(t, aas.ValidateLexical(aas.Integer, digits[:4096]))
}

func TestTypesOfASubmodel(t *testing.T) {
	for id, want := range map[string][]string{
		"https://admin-shell.io/ZVEI/TechnicalData/Submodel/1/2": {"technicaldata"},
		"https://admin-shell.io/idta/nameplate/3/0/Nameplate":    {"nameplate"},
		"https://admin-shell.io/idta/HandoverDocumentation/2/0":  {"handoverdocumentation"},
		"urn:example:submodel:1.0":                               {"example"},
		"submodel":                                               {"submodel"},
		"0173-1#01-AHX837#002":                                   {"01-ahx837"},
		"https://adminshell.io/idta/SubmodelTemplate/Foo/v1/0":   {"foo"},
	} {
		m := &aas.Submodel{Semantics: aas.Semantics{SemanticID: aas.Global(id)}}
		require.Equal(t, want, repository.TypesOf(m), id)
	}
}

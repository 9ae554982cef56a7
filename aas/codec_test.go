package aas_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/realtest"
)

// templates returns the published submodel templates in JSON by file name.
func templates(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	documents := make(map[string][]byte, len(files))
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		documents[filepath.Base(file)] = data
	}
	return documents
}

// tree reads JSON into values of any, without what the codec omits on purpose: empty arrays, what
// holds nothing else, and empty texts in members that are optional and have at least one character.
func tree(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	return pruned(v)
}

func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		_, iec := v["preferredName"]
		for name, member := range v {
			member = pruned(member)
			v[name] = member
			list, isList := member.([]any)
			object, isObject := member.(map[string]any)
			optional := name == "idShort" || iec && (name == "value" || name == "unit")
			if isList && len(list) == 0 || isObject && len(object) == 0 || member == "" && optional {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			v[i] = pruned(v[i])
		}
	}
	return v
}

func TestPublishedTemplatesLoseNothing(t *testing.T) {
	for name, data := range templates(t) {
		environment, err := aas.Decode[aas.Environment](data)
		require.NoError(t, err, name)
		encoded := aas.Append(nil, environment)
		require.Equal(t, tree(t, data), tree(t, encoded), name)
		again, err := aas.Decode[aas.Environment](encoded)
		require.NoError(t, err, name)
		require.Equal(t, environment, again, name)
		require.Equal(t, encoded, aas.Append(nil, again), name)
	}
}

// everything is a submodel with every member that a submodel can have.
const everything = `{"modelType":"Submodel","id":"urn:s","idShort":"Everything","category":"CONSTANT",
"displayName":[{"language":"en","text":"a \"quoted\" text"}],"description":[{"language":"de","text":"Größe\n"}],
"extensions":[{"semanticId":` + ref + `,"supplementalSemanticIds":[` + ref + `],"name":"x","valueType":"xs:int","value":"1","refersTo":[` + ref + `]}],
"administration":{"version":"1","revision":"2","creator":` + ref + `,"templateId":"urn:t","embeddedDataSpecifications":[` + eds + `]},
"embeddedDataSpecifications":[` + eds + `],"kind":"Template","semanticId":` + ref + `,"supplementalSemanticIds":[` + ref + `],
"qualifiers":[{"semanticId":` + ref + `,"kind":"ValueQualifier","type":"q","valueType":"xs:string","value":"","valueId":` + ref + `}],
"submodelElements":[
{"modelType":"Property","idShort":"p","valueType":"xs:int","value":"5","valueId":` + ref + `},
{"modelType":"MultiLanguageProperty","idShort":"m","value":[{"language":"de","text":"Hallo"}],"valueId":` + ref + `},
{"modelType":"Range","idShort":"r","valueType":"xs:double","min":"1.5","max":"INF"},
{"modelType":"ReferenceElement","idShort":"re","value":` + ref + `},
{"modelType":"RelationshipElement","idShort":"rel","first":` + ref + `,"second":` + ref + `},
{"modelType":"AnnotatedRelationshipElement","idShort":"ann","first":` + ref + `,"second":` + ref + `,"annotations":[{"modelType":"Property","idShort":"why","valueType":"xs:string","value":"so"}]},
{"modelType":"Blob","idShort":"b","contentType":"application/octet-stream","value":"AAEC/w=="},
{"modelType":"File","idShort":"f","contentType":"application/pdf","value":"/aasx/a.pdf"},
{"modelType":"SubmodelElementCollection","idShort":"c","value":[{"idShort":"inner","valueType":"xs:boolean","value":"true","modelType":"Property"},{"modelType":"SubmodelElementCollection","idShort":"deeper","value":[{"modelType":"Capability","idShort":"low"}]}]},
{"modelType":"SubmodelElementList","idShort":"l","orderRelevant":false,"semanticIdListElement":` + ref + `,"typeValueListElement":"Property","valueTypeListElement":"xs:string","value":[{"modelType":"Property","valueType":"xs:string","value":"one"},{"modelType":"Property","valueType":"xs:string","value":"two"}]},
{"modelType":"Entity","idShort":"e","entityType":"SelfManagedEntity","globalAssetId":"urn:a","specificAssetIds":[{"semanticId":` + ref + `,"name":"n","value":"v","externalSubjectId":` + ref + `}],"statements":[{"modelType":"Property","idShort":"st","valueType":"xs:decimal","value":"+007.50"}]},
{"modelType":"Operation","idShort":"op","inputVariables":[{"value":{"modelType":"Property","idShort":"in","valueType":"xs:int"}}],"outputVariables":[{"value":{"modelType":"Property","idShort":"out","valueType":"xs:int"}}],"inoutputVariables":[{"value":{"modelType":"Property","idShort":"io","valueType":"xs:int"}}]},
{"modelType":"Capability","idShort":"cap"},
{"modelType":"BasicEventElement","idShort":"ev","observed":` + modelRef + `,"direction":"output","state":"on","messageTopic":"t","messageBroker":` + modelRef + `,"lastUpdate":"2024-01-01T00:00:00Z","minInterval":"PT1S","maxInterval":"PT2S"}
]}`

const ref = `{"type":"ExternalReference","referredSemanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:r"}]},"keys":[{"type":"GlobalReference","value":"urn:x"}]}`

const modelRef = `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"Property","value":"p"}]}`

const eds = `{"dataSpecification":` + ref + `,"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"speed"}],
"shortName":[{"language":"en","text":"n"}],"unit":"1/min","unitId":` + ref + `,"sourceOfDefinition":"IEC","symbol":"n","dataType":"REAL_MEASURE","definition":[{"language":"en","text":"d"}],
"valueFormat":"NR2","valueList":{"valueReferencePairs":[{"value":"a","valueId":` + ref + `}]},"value":"x","levelType":{"min":true,"nom":false,"typ":false,"max":true}}}`

const everyShell = `{"modelType":"AssetAdministrationShell","id":"urn:shell","idShort":"S","administration":{"version":"1"},"derivedFrom":` + ref + `,
"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:a","specificAssetIds":[{"name":"serial","value":"1"}],"assetType":"urn:t","defaultThumbnail":{"path":"/a.png","contentType":"image/png"}},
"submodels":[{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"}]}]}`

const everyDescriptor = `{"id":"urn:shell","idShort":"S","displayName":[{"language":"en","text":"x"}],"description":[{"language":"en","text":"x"}],"extensions":[{"name":"e"}],
"administration":{"version":"1"},"assetKind":"Type","assetType":"urn:t","globalAssetId":"urn:a","specificAssetIds":[{"name":"serial","value":"1"}],
"endpoints":[` + endpoint + `],"submodelDescriptors":[{"id":"urn:s","idShort":"Sub","administration":{"version":"1"},"semanticId":` + ref + `,"supplementalSemanticIds":[` + ref + `],"displayName":[{"language":"en","text":"x"}],"endpoints":[` + endpoint + `]}]}`

const endpoint = `{"interface":"AAS-3.1","protocolInformation":{"href":"https://example.com","endpointProtocol":"HTTP","endpointProtocolVersion":["1.1","2"],"subprotocol":"s","subprotocolBody":"b","subprotocolBodyEncoding":"plain","securityAttributes":[{"type":"NONE","key":"k","value":"v"}]}}`

func roundTrip[T aas.Model](t *testing.T, text string) {
	t.Helper()
	v, err := aas.Decode[T]([]byte(text))
	require.NoError(t, err)
	require.JSONEq(t, text, string(aas.Append(nil, v)))
}

func TestEveryMemberSurvives(t *testing.T) {
	roundTrip[aas.Submodel](t, everything)
	roundTrip[aas.Shell](t, everyShell)
	roundTrip[aas.ShellDescriptor](t, everyDescriptor)
	roundTrip[aas.ConceptDescription](t, `{"modelType":"ConceptDescription","id":"0173-1#02-BAA120#008","idShort":"n","isCaseOf":[`+ref+`],"embeddedDataSpecifications":[`+eds+`]}`)
	roundTrip[aas.Environment](t, `{"assetAdministrationShells":[`+everyShell+`],"submodels":[`+everything+`]}`)
}

func TestEncodingJSONUsesTheCodec(t *testing.T) {
	var wrapped struct {
		Shell    aas.Shell             `json:"shell"`
		Property *aas.Property         `json:"property"`
		Asset    []aas.SpecificAssetID `json:"asset"`
	}
	text := `{"shell":` + everyShell + `,"property":{"modelType":"Property","idShort":"p","valueType":"xs:int","value":"5"},"asset":[{"name":"a","value":"b"}]}`
	require.NoError(t, json.Unmarshal([]byte(text), &wrapped))
	again, err := json.Marshal(wrapped)
	require.NoError(t, err)
	require.JSONEq(t, text, string(again))
}

func TestEveryTypeIsAJSONMarshaler(t *testing.T) {
	s := submodel(t, everything)
	for _, e := range s.Elements {
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.Equal(t, string(aas.AppendElement(nil, e)), string(data))
		require.NoError(t, json.Unmarshal(data, e))
		require.Equal(t, string(data), string(aas.AppendElement(nil, e)))
		require.Error(t, json.Unmarshal([]byte(`{"modelType":"Other"}`), e))
		require.Equal(t, string(data), string(aas.AppendElement(nil, e)), "a failure changes nothing")
	}
	for _, v := range []any{new(aas.Shell), new(aas.Submodel), new(aas.ConceptDescription), new(aas.ShellDescriptor), new(aas.SubmodelDescriptor),
		new(aas.Environment), new(aas.Reference), new(aas.AssetInformation), new(aas.SpecificAssetID), new(aas.Resource), new(aas.Endpoint), new(aas.Qualifier),
		new(aas.Extension), new(aas.Administration), new(aas.LangString), new(aas.EmbeddedDataSpecification)} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		require.Error(t, json.Unmarshal([]byte(`5`), v), "%T", v)
	}
}

func TestLists(t *testing.T) {
	text := `[{"name":"a","value":"b"},{"name":"c","value":"d","semanticId":` + ref + `}]`
	ids, err := aas.DecodeList[aas.SpecificAssetID]([]byte(text))
	require.NoError(t, err)
	require.Len(t, ids, 2)
	require.JSONEq(t, text, string(aas.AppendList(nil, ids)))
	require.Equal(t, []byte("[]"), aas.AppendList[aas.Reference](nil, nil))
	_, err = aas.DecodeList[aas.SpecificAssetID]([]byte(`[{"name":"a","value":"b"},{"name":"a"}]`))
	require.ErrorContains(t, err, "[1].value is required")
}

func TestIdentifiablesBeginWithModelType(t *testing.T) {
	shell, err := aas.Decode[aas.Shell]([]byte(everyShell))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(aas.Append(nil, shell), []byte(`{"modelType":"AssetAdministrationShell","id":`)))
	require.True(t, bytes.HasPrefix(aas.Append(nil, new(aas.Submodel)), []byte(`{"modelType":"Submodel","id":`)))
	require.True(t, bytes.HasPrefix(aas.Append(nil, new(aas.ConceptDescription)), []byte(`{"modelType":"ConceptDescription","id":`)))
}

func TestShortConceptDescriptionIsCompleted(t *testing.T) {
	concept, err := aas.Decode[aas.ConceptDescription]([]byte(`{"id":"x","idShort":"n","embeddedDataSpecifications":[{"dataSpecificationContent":{"preferredName":[{"language":"en","text":"speed"}],"unit":"1/min","valueFormat":"NR2"}}]}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"modelType":"ConceptDescription","id":"x","idShort":"n","embeddedDataSpecifications":[{
		"dataSpecification":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"}]},
		"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"speed"}],"unit":"1/min","valueFormat":"NR2"}}]}`,
		string(aas.Append(nil, concept)))
}

func TestWhatIsRefusedIsNamed(t *testing.T) {
	element := func(member string) string {
		return `{"modelType":"Submodel","id":"x","submodelElements":[{"modelType":"Capability","idShort":"a"},{"modelType":"SubmodelElementCollection","idShort":"b","value":[` + member + `]}]}`
	}
	for text, want := range map[string]fault.Field{
		`{"modelType":"Shell"}`:                                    {Field: "modelType", Message: "must be Submodel"},
		`{"id":5}`:                                                 {Field: "id", Message: "must be a string"},
		`{"id":null}`:                                              {Field: "id", Message: "must be a string"},
		`{"id":"a","id":"a"}`:                                      {Field: "id", Message: "is a duplicate"},
		`{"kind":"Sometimes"}`:                                     {Field: "kind", Message: "is not one of the allowed values"},
		`{"submodelElements":{}}`:                                  {Field: "submodelElements", Message: "must be an array"},
		`{"semanticId":{"type":"ExternalReference"}}`:              {Field: "semanticId.keys", Message: "is required"},
		`{"qualifiers":[{"type":"a"}]}`:                            {Field: "qualifiers[0].valueType", Message: "is required"},
		element(`{"idShort":"c"}`):                                 {Field: "submodelElements[1].value[0].modelType", Message: "is required"},
		element(`{"modelType":"Thing"}`):                           {Field: "submodelElements[1].value[0].modelType", Message: "is no kind of submodel element"},
		element(`{"modelType":"Property"}`):                        {Field: "submodelElements[1].value[0].valueType", Message: "is required"},
		element(`{"value":7,"modelType":"Property"}`):              {Field: "submodelElements[1].value[0].value", Message: "must be a string"},
		element(`{"modelType":"Blob","value":"%"}`):                {Field: "submodelElements[1].value[0].value", Message: "must be Base64"},
		element(`5`):                                               {Field: "submodelElements[1].value[0]", Message: "must be an object"},
		element(`{"modelType":"Property","valueType":"xs:token"}`): {Field: "submodelElements[1].value[0].valueType", Message: "is not one of the allowed values"},
	} {
		_, err := aas.Decode[aas.Submodel]([]byte(text))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, text)
		e, _ := fault.From(err)
		require.Equal(t, []fault.Field{want}, e.Fields, text)
	}
}

func TestBrokenDocumentsAreRefused(t *testing.T) {
	for _, text := range []string{
		``, ` `, `null`, `[]`, `"x"`, `{`, `{"id"`, `{"id":`, `{"id":"a"`, `{"id":"a",}`, `{,}`, `{"id" "a"}`, `{"id":"a"}}`, `{"id":"a"} x`,
		"{\"id\":\"\xff\"}", "{\"id\":\"\n\"}", `{"id":"\x"}`, `{"id":"\ud800"}`, `{"id":"\ud800\u0041"}`, `{"id":"\udc00"}`, `{"id":"\u00g0"}`,
		`{"other":01}`, `{"other":-}`, `{"other":1.}`, `{"other":1e}`, `{"other":tru}`, `{"other":nul}`, `{"other":[1,]}`, `{"other":{"a":1,}}`, "{\"id\":\"a\"}\x00",
		`{"submodelElements":[{"idShort":"a",}]}`, `{"other":` + strings.Repeat("[", 100_000), `{"other":` + strings.Repeat(`{"a":`, 100_000),
	} {
		_, err := aas.Decode[aas.Submodel]([]byte(text))
		require.ErrorIs(t, err, aas.ErrInvalidRequest, text[:min(len(text), 60)])
	}
}

func TestSpaceIsIgnored(t *testing.T) {
	s, err := aas.Decode[aas.Submodel]([]byte("\xef\xbb\xbf \r\n\t{ \"future\" : [1,-2.5e+3,{\"a\":null,\"b\":\"\\\"\"}], \"more\":1, \"id\" : \"\\u00e4\\ud83d\\ude00\\n\\/\" } \n"))
	require.NoError(t, err)
	require.Equal(t, "ä😀\n/", s.ID)
	require.Equal(t, []string{"future", "more"}, aas.UnknownMembers(s.Unknown))
}

func nested(levels int) string {
	return `{"id":"x","submodelElements":[` + strings.Repeat(`{"idShort":"a","value":[`, levels-1) +
		`{"modelType":"Capability","idShort":"a"}` + strings.Repeat(`],"modelType":"SubmodelElementCollection"}`, levels-1) + `]}`
}

func TestLimits(t *testing.T) {
	_, err := aas.Decode[aas.Submodel]([]byte(nested(aas.MaxDepth)))
	require.NoError(t, err)
	_, err = aas.Decode[aas.Submodel]([]byte(nested(aas.MaxDepth + 1)))
	require.ErrorContains(t, err, "is nested too deeply, at most 64 levels")

	deepReference := strings.Repeat(`{"type":"ExternalReference","keys":[],"referredSemanticId":`, 100) + `{}` + strings.Repeat(`}`, 100)
	_, err = aas.Decode[aas.Reference]([]byte(deepReference))
	require.ErrorContains(t, err, "is nested too deeply")

	many := func(n int) []byte {
		return []byte(`{"id":"x","submodelElements":[` + strings.Repeat(`{"modelType":"Capability"},`, n-1) + `{"modelType":"Capability"}]}`)
	}
	_, err = aas.Decode[aas.Submodel](many(aas.MaxElements))
	require.NoError(t, err)
	_, err = aas.Decode[aas.Submodel](many(aas.MaxElements + 1))
	require.ErrorContains(t, err, "at most 200000 submodel elements")
	_, err = aas.Decode[aas.Submodel]([]byte(`{"other":[` + strings.Repeat("1,", aas.MaxEntries) + `1]}`))
	require.ErrorContains(t, err, "at most 1000000 entries")
}

func TestInvalidTextIsWrittenAsValidUTF8(t *testing.T) {
	text := "a\xffb\x01\x7f\u2028"
	data := string(aas.Append(nil, &aas.LangString{Language: "en", Text: text}))
	require.True(t, json.Valid([]byte(data)))
	require.Contains(t, data, "\"a\uFFFDb\\u0001\x7f\u2028\"")
}

// The seeds are small, and each target reads one kind of document: a fuzzer that found something new in a large
// input would spend its time on making that smaller.
func FuzzDecode(f *testing.F) {
	for _, e := range submodel(f, everything).Elements {
		one := aas.Submodel{Elements: []aas.Element{e}}
		one.ID = "x"
		f.Add(aas.Append(nil, &one))
	}
	f.Add([]byte(nested(3)))
	f.Add([]byte(`{"id":"\ud83d\ude00"}`))
	f.Fuzz(fuzzModel[aas.Submodel])
}

func FuzzDecodeShell(f *testing.F) {
	f.Add([]byte(`{"id":"x","assetInformation":{"assetKind":"Instance","globalAssetId":"a"},"submodels":[` + modelRef + `]}`))
	f.Add([]byte(`{"id":"x","assetInformation":{"assetKind":"Type","specificAssetIds":[{"name":"n","value":"v","externalSubjectId":` + modelRef + `}],"defaultThumbnail":{"path":"/p"}}}`))
	f.Add([]byte(`{"id":"x","derivedFrom":` + modelRef + `,"administration":{"version":"1"},"extensions":[{"name":"e","value":"1"}],"assetInformation":{"assetKind":"Role"}}`))
	f.Fuzz(fuzzModel[aas.Shell])
}

func FuzzDecodeDescriptor(f *testing.F) {
	f.Add([]byte(`{"id":"x","endpoints":[{"interface":"AAS-3.0","protocolInformation":{"href":"h","securityAttributes":[{"type":"NONE","key":"k","value":"v"}]}}]}`))
	f.Add([]byte(`{"id":"x","submodelDescriptors":[{"id":"y","endpoints":[],"semanticId":` + modelRef + `}]}`))
	f.Fuzz(fuzzModel[aas.ShellDescriptor])
}

func FuzzDecodeEnvironment(f *testing.F) {
	f.Add([]byte(`{"assetAdministrationShells":[{"id":"x","assetInformation":{"assetKind":"Type"}}],"submodels":[{"id":"y"}]}`))
	f.Add([]byte(`{"conceptDescriptions":[{"id":"x","isCaseOf":[` + modelRef + `],"embeddedDataSpecifications":[{"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"n"}],"levelType":{"min":true,"nom":false,"typ":false,"max":true}}}]}]}`))
	f.Fuzz(fuzzModel[aas.Environment])
}

// maxFuzzed bounds the inputs of fuzzing: larger ones find nothing that these do not.
const maxFuzzed = 4 << 10

func fuzzModel[T aas.Model](t *testing.T, data []byte) {
	if len(data) > maxFuzzed {
		return
	}
	v, err := aas.Decode[T](data)
	if err != nil {
		require.ErrorIs(t, err, aas.ErrInvalidRequest)
		return
	}
	require.True(t, json.Valid(data), "accepted what is not JSON")
	encoded := aas.Append(nil, v)
	require.True(t, json.Valid(encoded))
	again, err := aas.Decode[T](encoded)
	require.NoError(t, err)
	require.Equal(t, string(encoded), string(aas.Append(nil, again)))
}

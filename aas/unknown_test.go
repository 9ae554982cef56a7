package aas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

const (
	aReference = `{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:x"}],"odd":[1, {"a":null}]}`
	oddElement = `"idShort":"e","odd":"x\\u00e4","unitId":7,"semanticId":` + aReference + `,"qualifiers":[{"type":"q","valueType":"xs:int","odd":1}],"extensions":[{"name":"n","odd":{}}]`
)

// What the metamodel does not have comes back as it came, wherever it is.
func TestUnknownMembersAreKept(t *testing.T) {
	var elements []string
	for kind, members := range map[string]string{
		"Property": `,"valueType":"xs:int"`, "Range": `,"valueType":"xs:int"`, "SubmodelElementList": `,"typeValueListElement":"Capability"`, "Capability": "",
		"MultiLanguageProperty": "", "ReferenceElement": "", "RelationshipElement": "", "AnnotatedRelationshipElement": "", "Blob": "", "File": "",
		"SubmodelElementCollection": `,"value":[{"modelType":"Capability","idShort":"c","odd":true}]`, "Entity": "", "Operation": "",
		"BasicEventElement": `,"observed":` + aReference + `,"direction":"input","state":"on"`,
	} {
		elements = append(elements, `{"modelType":"`+kind+`",`+strings.Replace(oddElement, `"e"`, `"`+kind+`"`, 1)+members+`}`)
	}
	submodel := `{"modelType":"Submodel","id":"x","odd":0.50,"administration":{"version":"1","createdAt":"2026-01-02T03:04:05Z","updatedAt":"2026-01-02T03:04:06Z","odd":false},
		"embeddedDataSpecifications":[{"dataSpecification":` + aReference + `,"dataSpecificationContent":{"modelType":"DataSpecificationUom","preferredName":[],"symbol":"m"},"odd":1},
		{"dataSpecification":` + aReference + `,"dataSpecificationContent":{"modelType":"DataSpecificationIec61360","preferredName":[{"language":"en","text":"x"}],"odd":2}}],
		"submodelElements":[` + strings.Join(elements, ",") + `]}`
	v, err := aas.Decode[aas.Submodel]([]byte(submodel))
	require.NoError(t, err)
	require.JSONEq(t, submodel, string(aas.Append(nil, v)))

	shell := `{"modelType":"AssetAdministrationShell","id":"x","odd":1,"assetInformation":{"assetKind":"Batch","globalAssetId":"urn:a","odd":2,
		"specificAssetIds":[{"name":"a","value":"b","odd":3}],"defaultThumbnail":{"path":"/a","odd":4}}}`
	s, err := aas.Decode[aas.Shell]([]byte(shell))
	require.NoError(t, err)
	require.JSONEq(t, shell, string(aas.Append(nil, s)))
	require.NoError(t, s.Validate())

	descriptor := `{"id":"x","odd":1,"submodelDescriptors":[{"id":"y","odd":2,"endpoints":[{"interface":"SUBMODEL-3.1","odd":3,"protocolInformation":{"href":"http://x","odd":4}}]}]}`
	d, err := aas.Decode[aas.ShellDescriptor]([]byte(descriptor))
	require.NoError(t, err)
	require.JSONEq(t, descriptor, string(aas.Append(nil, d)))
}

func TestUnknownMembersThatCannotBeKeptAreRefused(t *testing.T) {
	for path, text := range map[string]string{
		"semanticId.keys[0].odd": `"semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:x","odd":1}]}`,
		"description[0].odd":     `"description":[{"language":"en","text":"x","odd":1}]`,
		"odd":                    `"odd":1,"odd":1`,
	} {
		_, err := aas.Decode[aas.Submodel]([]byte(`{"id":"x",` + text + `}`))
		require.ErrorContains(t, err, path)
	}
	many := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"m%d":0`, i))
		}
		return `{"id":"x",` + strings.Join(members, ",") + `}`
	}
	_, err := aas.Decode[aas.Submodel]([]byte(many(64)))
	require.NoError(t, err)
	_, err = aas.Decode[aas.Submodel]([]byte(many(65)))
	require.ErrorContains(t, err, "more than 64 members")
}

func TestPatchReplacesUnknownMembers(t *testing.T) {
	e, err := aas.DecodeElement([]byte(`{"modelType":"Property","idShort":"p","valueType":"xs:int","one":1,"two":2}`))
	require.NoError(t, err)
	require.NoError(t, aas.MergeElement(e, []byte(`{"one":3,"three":4}`)))
	require.JSONEq(t, `{"modelType":"Property","idShort":"p","valueType":"xs:int","one":3,"two":2,"three":4}`, string(aas.AppendElement(nil, e)))
}

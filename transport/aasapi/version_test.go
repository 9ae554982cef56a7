package aasapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aas-core-works/aas-core3.0-golang/jsonization"
	"github.com/stretchr/testify/require"
)

// newer is a submodel with what metamodel 3.0 has no form for.
const newer = `{"modelType":"Submodel","id":"urn:newer","administration":{"version":"1","createdAt":"2026-01-02T03:04:05Z"},"vendor":{"x":1},
	"submodelElements":[
	{"modelType":"Entity","idShort":"part"},{"modelType":"File","idShort":"file","vendor":1},{"modelType":"Blob","idShort":"blob","value":"AAEC"},
	{"modelType":"RelationshipElement","idShort":"half","first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]}},
	{"modelType":"SubmodelElementList","idShort":"list","typeValueListElement":"RelationshipElement","value":[
		{"modelType":"RelationshipElement"},
		{"modelType":"RelationshipElement","first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]}}]},
	{"modelType":"Property","idShort":"plain","valueType":"xs:int","value":"1","embeddedDataSpecifications":[{"dataSpecification":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:uom"}]},
		"dataSpecificationContent":{"modelType":"DataSpecificationUom","preferredName":[{"language":"en","text":"x"}],"symbol":"m"}}]}]}`

// A client of metamodel 3.0, here aas-core3.0, can read every list; what it was not shown it does not erase.
func TestVersion30HasWhatItsClientsCanRead(t *testing.T) {
	const v30 = "/api/v3.0"
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/submodels", newer)
	shell := `{"modelType":"AssetAdministrationShell","id":"urn:batch","assetInformation":{"assetKind":"Batch","globalAssetId":"urn:a"}}`
	r.require(http.StatusCreated, "POST", "/shells", shell)
	r.equal(newer, inRepository+b64("urn:newer")+"?extent=withBlobValue")
	r.equal(shell, "/shells/"+b64("urn:batch"))

	read := func(path string, decode func(any) error) {
		t.Helper()
		a := r.sendTo("GET", v30+path, noBody)
		require.Equal(t, http.StatusOK, a.status, a.body)
		if path != "/serialization" { // streamed: what is omitted is known after the header
			require.Contains(t, a.header.Get("Warning"), "metamodel 3.0 has no form for", path)
		}
		entries := []json.RawMessage{json.RawMessage(a.body)}
		if strings.HasPrefix(a.body, `{"paging_metadata"`) {
			entries = a.page(t).Result
		}
		for _, entry := range entries {
			var v any
			require.NoError(t, json.Unmarshal(entry, &v))
			require.NoError(t, decode(v), "%s", entry)
		}
	}
	submodel := func(v any) error { _, err := jsonization.SubmodelFromJsonable(v); return err }
	element := func(v any) error { _, err := jsonization.SubmodelElementFromJsonable(v); return err }
	aShell := func(v any) error { _, err := jsonization.AssetAdministrationShellFromJsonable(v); return err }
	one := inRepository + b64("urn:newer")
	read("/submodels", submodel)
	read("/submodels?extent=withBlobValue", submodel)
	read(one, submodel)
	read(one+"/submodel-elements", element)
	read(one+"/submodel-elements/list", element)
	read("/shells", aShell)
	read("/shells/"+b64("urn:batch"), aShell)
	read("/shells/"+b64("urn:batch")+"/asset-information", func(v any) error { _, err := jsonization.AssetInformationFromJsonable(v); return err })
	read("/serialization", func(v any) error { _, err := jsonization.EnvironmentFromJsonable(v); return err })
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", v30+one+"/submodel-elements/half", noBody).status)

	for path, body := range map[string]string{
		one: `{"modelType":"Submodel","id":"urn:newer"}`, "/shells/" + b64("urn:batch"): shell,
		"/shells/" + b64("urn:batch") + "/asset-information": `{"assetKind":"Instance"}`,
		one + "/submodel-elements/part":                      `{"modelType":"Entity","idShort":"part","entityType":"CoManagedEntity"}`,
	} {
		require.Equal(t, http.StatusConflict, r.sendTo("PUT", v30+path, body).status, path)
	}
	r.equal(newer, one+"?extent=withBlobValue")
	require.Equal(t, http.StatusNoContent, r.sendTo("PUT", v30+aPump, pump).status)
	require.Empty(t, r.sendTo("GET", v30+aData, noBody).header.Get("Warning"))
}

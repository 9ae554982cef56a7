package aasapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whether there is one is asked of what the path names, and the version is that of the document.
func TestConditionsOnParts(t *testing.T) {
	const endpoints = `"endpoints":[{"interface":"SUBMODEL-3.1","protocolInformation":{"href":"https://example.com/s"}}]`
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/shell-descriptors", `{"id":"urn:shell","submodelDescriptors":[{"id":"urn:s1",`+endpoints+`}]}`)
	nested := "/shell-descriptors/" + b64("urn:shell") + "/submodel-descriptors/"
	for _, part := range []struct{ there, absent, whole, body string }{
		{aData + "/submodel-elements/speed", aData + "/submodel-elements/fresh", aData, `{"modelType":"Capability"}`},
		{aPump + aData + "/submodel-elements/group.rows", aData + "/submodel-elements/group.fresh", aData, `{"modelType":"Capability"}`},
		{nested + b64("urn:s1"), nested + b64("urn:s2"), "/shell-descriptors/" + b64("urn:shell"), `{` + endpoints + `}`},
	} {
		version := r.require(http.StatusOK, "GET", part.whole, noBody).header.Get("ETag")
		r.contains(r.require(http.StatusPreconditionFailed, "PUT", part.there, part.body, "If-None-Match", "*"), "already")
		r.contains(r.require(http.StatusPreconditionFailed, "PUT", part.absent, part.body, "If-Match", "*"), "there is no")
		r.require(http.StatusPreconditionFailed, "PUT", part.absent, part.body, "If-Match", `"9"`)
		r.require(http.StatusCreated, "PUT", part.absent, part.body, "If-None-Match", "*")
		r.require(http.StatusPreconditionFailed, "PUT", part.there, part.body, "If-Match", version)
		r.require(http.StatusNoContent, "PUT", part.there, part.body, "If-Match", "*")
	}
	a := r.require(http.StatusPreconditionFailed, "PUT", aPump+aData, everything, "If-None-Match", "*")
	r.contains(a, "there is one already")
	r.require(http.StatusNoContent, "PUT", aPump+aData, everything, "If-Match", "*")
	gone := aPump + "/submodels/" + b64("urn:example:submodel:gone")
	r.contains(r.require(http.StatusPreconditionFailed, "PUT", gone, `{"modelType":"Submodel"}`, "If-Match", "*"), "there is none")
	r.require(http.StatusNoContent, "PUT", gone, `{"modelType":"Submodel"}`, "If-None-Match", "*")
}

func TestAnEntryOfAListIsNamedByItsPlace(t *testing.T) {
	r := start(t, rigOptions{})
	series := aData + "/submodel-elements/series"
	for _, name := range []string{"", `"idShort":"third",`} {
		a := r.require(http.StatusCreated, "POST", series, `{"modelType":"Property",`+name+`"valueType":"xs:int","value":"3"}`)
		got := r.sendTo("GET", a.header.Get("Location"), noBody)
		r.contains(got, `"value":"3"`)
	}
}

func TestAValueOfWhatIsNotThereIsRefused(t *testing.T) {
	r := start(t, rigOptions{})
	for _, tree := range trees {
		r.contains(r.require(http.StatusBadRequest, "PATCH", tree+"/$value", `{"speed":1,"other":2}`), "other")
		r.contains(r.require(http.StatusBadRequest, "PATCH", tree+"/submodel-elements/series/$value", `[1,2,3]`), "[2]")
		r.require(http.StatusNotFound, "PATCH", tree+"/submodel-elements/other/$value", `1`)
	}
}

// What is added is not there yet, whatever it is added to.
func TestConditionsOnWhatIsNew(t *testing.T) {
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/shell-descriptors", `{"id":"urn:shell"}`)
	nested := `{"id":"urn:s1","endpoints":[{"interface":"SUBMODEL-3.1","protocolInformation":{"href":"https://example.com/s"}}]}`
	for path, body := range map[string]string{
		aData + "/submodel-elements":                                       `{"modelType":"Capability","idShort":"fresh"}`,
		aPump + aData + "/submodel-elements/group":                         `{"modelType":"Capability","idShort":"fresh"}`,
		aPump + "/submodel-refs":                                           `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:fresh"}]}`,
		"/shell-descriptors/" + b64("urn:shell") + "/submodel-descriptors": nested,
	} {
		r.require(http.StatusPreconditionFailed, "POST", path, body, "If-Match", `"9"`)
		r.require(http.StatusCreated, "POST", path, body, "If-None-Match", "*")
		r.require(http.StatusPreconditionFailed, "POST", path, body, "If-None-Match", "*")
		r.require(http.StatusConflict, "POST", path, body)
	}
}

// Each write asks for the version of the document that it is about: with a list too, of which one holds.
func TestAListOfVersionsIsAskedOfTheDocument(t *testing.T) {
	r := start(t, rigOptions{})
	descriptor := `{"id":"urn:d","endpoints":[{"interface":"AAS-3.1","protocolInformation":{"href":"https://example.com"}}]}`
	r.require(http.StatusCreated, "POST", "/shell-descriptors", descriptor)
	r.require(http.StatusCreated, "POST", "/submodel-descriptors", descriptor)
	r.require(http.StatusCreated, "POST", "/concept-descriptions", `{"modelType":"ConceptDescription","id":"urn:c"}`)
	id := b64("urn:d")
	for path, body := range map[string]string{
		aPump + "/asset-information":                               `{"assetKind":"Type","globalAssetId":"urn:other"}`,
		aData + "/$value":                                          `{"speed":17}`,
		aPump + aData + "/submodel-elements/speed/$value":          `18`,
		"/shell-descriptors/" + id:                                 `{"id":"urn:d","idShort":"Other"}`,
		"/shell-descriptors/" + id + "/submodel-descriptors/" + id: descriptor,
		"/submodel-descriptors/" + id:                              `{"id":"urn:d","idShort":"Other","endpoints":[{"interface":"AAS-3.1","protocolInformation":{"href":"https://example.com"}}]}`,
		"/concept-descriptions/" + b64("urn:c"):                    `{"modelType":"ConceptDescription","id":"urn:c","idShort":"Other"}`,
	} {
		method := "PUT"
		if strings.HasSuffix(path, "$value") {
			method = "PATCH"
		}
		r.require(http.StatusPreconditionFailed, method, path, body, "If-Match", `"8", "9"`)
		status := r.send(method, path, body, "If-Match", `"8", "1", "2", "3"`).status
		require.Contains(t, []int{http.StatusNoContent, http.StatusCreated}, status, path)
	}
}

package aasapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blobs is a submodel with Blobs wherever a submodel can have one.
const blobs = `{"modelType":"Submodel","id":"urn:blobs","idShort":"Blobs","submodelElements":[
	{"modelType":"Blob","idShort":"top","contentType":"text/plain","value":"dG9w"},
	{"modelType":"SubmodelElementCollection","idShort":"group","value":[
		{"modelType":"Blob","idShort":"inner","contentType":"text/plain","value":"aW5uZXI="}]},
	{"modelType":"SubmodelElementList","idShort":"rows","typeValueListElement":"Blob","value":[
		{"modelType":"Blob","displayName":[{"language":"en","text":"first"}],"contentType":"text/plain","value":"MQ=="},
		{"modelType":"Blob","displayName":[{"language":"en","text":"second"}],"contentType":"text/plain","value":"Mg=="}]},
	{"modelType":"Entity","idShort":"part","entityType":"CoManagedEntity","statements":[
		{"modelType":"Blob","idShort":"fact","contentType":"text/plain","value":"ZmFjdA=="}]},
	{"modelType":"AnnotatedRelationshipElement","idShort":"noted",
		"first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},
		"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:b"}]},
		"annotations":[{"modelType":"Blob","idShort":"note","contentType":"text/plain","value":"bm90ZQ=="}]},
	{"modelType":"Operation","idShort":"run","inputVariables":[
		{"value":{"modelType":"Blob","idShort":"program","contentType":"text/plain","value":"cnVu"}}]}]}`

const aBlobs = inRepository + "dXJuOmJsb2Jz"

// wholeBlobs is the submodel with all that is stored of it.
const wholeBlobs = aBlobs + "?extent=withBlobValue"

func TestWhatWasReadCanBePutBackWithItsBlobs(t *testing.T) {
	for _, prefix := range []string{v31, "/api/v3.0"} {
		r := start(t, rigOptions{})
		r.require(201, "POST", "/submodels", blobs)
		r.require(201, "POST", aPump+"/submodel-refs", `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:blobs"}]}`)
		for _, at := range []string{aBlobs, aPump + aBlobs} {
			shown := r.sendTo("GET", prefix+at, noBody)
			require.NotContains(t, shown.body, "dG9w")
			require.Equal(t, http.StatusNoContent, r.sendTo("PUT", prefix+at, shown.body).status)
			r.equal(blobs, wholeBlobs)

			// What the client has changed is changed, and nothing else.
			renamed := strings.Replace(shown.body, `"idShort":"Blobs"`, `"idShort":"Blobs","category":"x"`, 1)
			require.Equal(t, http.StatusNoContent, r.sendTo("PUT", prefix+at, renamed).status)
			r.equal(strings.Replace(blobs, `"idShort":"Blobs"`, `"idShort":"Blobs","category":"x"`, 1), wholeBlobs)
			require.Equal(t, http.StatusNoContent, r.sendTo("PUT", prefix+at, shown.body).status)

			for _, path := range []string{"top", "group", "group.inner", "rows", "rows%5B1%5D", "part", "part.fact", "noted", "noted.note", "run", "run.program"} {
				element := r.sendTo("GET", prefix+at+"/submodel-elements/"+path, noBody)
				require.Equal(t, http.StatusNoContent, r.sendTo("PUT", prefix+at+"/submodel-elements/"+path, element.body).status, path)
				r.equal(blobs, wholeBlobs)
			}
			value := r.sendTo("GET", prefix+at+"/submodel-elements/top/$value", noBody)
			require.JSONEq(t, `{"contentType":"text/plain"}`, value.body)
			require.Equal(t, http.StatusNoContent, r.sendTo("PATCH", prefix+at+"/submodel-elements/top/$value", value.body).status)
			r.equal(blobs, wholeBlobs)
		}
	}
}

func TestABlobIsRemovedOnlyOnPurpose(t *testing.T) {
	r := start(t, rigOptions{})
	const (
		at      = aBlobs + "/submodel-elements/top"
		full    = at + "?extent=withBlobValue"
		given   = `{"modelType":"Blob","idShort":"top","contentType":"text/plain","value":"dG9w"}`
		without = `{"modelType":"Blob","idShort":"top","contentType":"text/plain"}`
		null    = `{"modelType":"Blob","idShort":"top","contentType":"text/plain","value":null}`
		empty   = `{"modelType":"Blob","idShort":"top","contentType":"text/plain","value":""}`
		other   = `{"modelType":"Blob","idShort":"top","contentType":"image/png"}`
		another = `{"modelType":"Property","idShort":"top","valueType":"xs:string"}`
	)
	r.require(201, "POST", "/submodels", blobs)
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", at, without, given},
		{"PUT", at, null, without},
		{"PUT", at, empty, empty},
		{"PUT", at, other, other}, // the bytes are of another type
		{"PUT", at, another, another},
		{"PATCH", at, null, without},
		{"PATCH", at, without, given},
		{"PATCH", at + "/$value", `{"value":null}`, without},
		{"PUT", aBlobs, strings.Replace(blobs, `"dG9w"`, "null", 1), without},
		{"PUT", aBlobs, strings.Replace(blobs, `"dG9w"`, `""`, 1), empty},
	} {
		r.require(204, "PUT", aBlobs, blobs)
		r.require(204, c.method, c.path, c.body)
		r.equal(c.want, full)
	}
	// A new one has nothing to keep, and null is what it says.
	r.require(201, "PUT", aBlobs+"/submodel-elements/fresh", strings.ReplaceAll(null, "top", "fresh"))
	r.require(201, "PUT", inRepository+b64("urn:fresh"), strings.Replace(blobs, "urn:blobs", "urn:fresh", 1))
}

func TestEntriesOfListsKeepTheirOwnBlobs(t *testing.T) {
	r := start(t, rigOptions{})
	const (
		rows   = aBlobs + "/submodel-elements/rows"
		first  = `{"modelType":"Blob","displayName":[{"language":"en","text":"first"}],"contentType":"text/plain"}`
		second = `{"modelType":"Blob","displayName":[{"language":"en","text":"second"}],"contentType":"text/plain"}`
		new3   = `{"modelType":"Blob","contentType":"text/plain","value":"Mw=="}`
		plain  = `{"modelType":"Blob","contentType":"text/plain"}`
	)
	with := func(entry, value string) string { return strings.TrimSuffix(entry, "}") + `,"value":"` + value + `"}` }
	list := func(entries ...string) string {
		return `{"modelType":"SubmodelElementList","idShort":"rows","typeValueListElement":"Blob","value":[` + strings.Join(entries, ",") + `]}`
	}
	r.require(201, "POST", "/submodels", blobs)
	for _, c := range []struct{ put, want string }{
		{list(second, first), list(with(second, "Mg=="), with(first, "MQ=="))},             // moved
		{list(second), list(with(second, "Mg=="))},                                         // the other one removed
		{list(new3, first, second), list(new3, with(first, "MQ=="), with(second, "Mg=="))}, // one put before
		{list(plain, second), list(with(plain, "MQ=="), with(second, "Mg=="))},             // one changed
	} {
		r.require(204, "PUT", aBlobs, blobs)
		r.require(204, "PUT", rows, c.put)
		r.equal(c.want, rows+"?extent=withBlobValue")
	}
	// Which entry this is cannot be known, and no other's value is taken for it.
	r.require(204, "PUT", aBlobs, blobs)
	a := r.require(400, "PUT", rows, list(plain))
	require.Contains(t, a.body, "value[0]")
	require.Contains(t, a.body, "null")
	r.equal(blobs, wholeBlobs)
	r.require(204, "PUT", rows, list(strings.Replace(plain, "}", `,"value":null}`, 1)))
	r.equal(list(plain), rows+"?extent=withBlobValue")
}

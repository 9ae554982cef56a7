package aasapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

// awkward are ids that a path, a router or an encoding could take for something else.
var awkward = []string{
	"urn:example:1", "https://example.com/a/1?x=1&y=2#frag", "0173-1#02-AAO677#002", "100%", "a%2Fb", "a%20b", "1+1=2",
	"with blank", "semi;colon", "comma,comma", "Überdruck/Kühlwasser", "https://example.com/submodels", "$metadata", "'\"<>",
	"日本", "a//b", "tail/", "/head", "...", "~_-", "???>>>", "aa", "aaa", "aaaa", "\u00ff\u00fe", "🙂",
}

func TestAwkwardIDs(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{NoOwnDescriptors: true}})
	for _, id := range awkward {
		quoted, err := json.Marshal(id)
		require.NoError(t, err)
		for path, body := range map[string]string{
			"/shells":               `{"id":` + string(quoted) + `,"assetInformation":{"assetKind":"Instance","globalAssetId":"x"},"modelType":"AssetAdministrationShell"}`,
			"/submodels":            `{"id":` + string(quoted) + `,"modelType":"Submodel"}`,
			"/concept-descriptions": `{"id":` + string(quoted) + `,"modelType":"ConceptDescription"}`,
			"/shell-descriptors":    `{"id":` + string(quoted) + `}`,
			"/submodel-descriptors": `{"id":` + string(quoted) + `,"endpoints":[{"interface":"SUBMODEL-3.1","protocolInformation":{"href":"http://x"}}]}`,
		} {
			made := r.require(http.StatusCreated, "POST", path, body)
			require.Equal(t, v31+path+"/"+b64(id), made.header.Get("Location"))
			for _, at := range []string{b64(id), b64(id) + "=", strings.ReplaceAll(b64(id), "-", "%2D") + "%3D"} {
				got := r.require(http.StatusOK, "GET", path+"/"+at, noBody)
				var doc struct{ ID string }
				require.NoError(t, json.Unmarshal([]byte(got.body), &doc))
				require.Equal(t, id, doc.ID)
			}
			r.require(http.StatusConflict, "POST", path, body)
			r.require(http.StatusNoContent, "PUT", path+"/"+b64(id), body)
			r.require(http.StatusNoContent, "DELETE", path+"/"+b64(id), noBody)
			r.require(http.StatusNotFound, "DELETE", path+"/"+b64(id), noBody)
			r.require(http.StatusNotFound, "GET", path+"/"+b64(id), noBody)
			again := r.require(http.StatusCreated, "PUT", path+"/"+b64(id), body)
			require.Equal(t, v31+path+"/"+b64(id), again.header.Get("Location"))
		}
	}
}

func TestJunkIDs(t *testing.T) {
	r := start(t, rigOptions{})
	for _, id := range []string{"!", "a", "a.b", "YQ+", "YQ===", "%0AYQ", "YQ%0D%0A", "_w", "AA%25", "====", "urn:example:1", "YR"} {
		for _, path := range []string{"/shells/", "/submodels/", "/concept-descriptions/", "/shell-descriptors/", "/submodel-descriptors/", "/lookup/shells/", aPump + "/submodels/", aPump + "/submodel-refs/"} {
			method := "GET"
			if strings.HasSuffix(path, "refs/") {
				method = "DELETE"
			}
			r.require(http.StatusBadRequest, method, path+id, noBody)
		}
	}
	r.require(http.StatusNotFound, "GET", "/shells/"+b64("."), noBody)
}

func TestBadQueries(t *testing.T) {
	r := start(t, rigOptions{})
	for _, query := range []string{"limit=0", "limit=-1", "limit=a", "limit=1.5", "limit=%2B1", "cursor=junk", "cursor=!", "cursor=AAAAAAAA", "level=x", "extent=y", "level=Core", "x=%zz"} {
		for _, path := range []string{"/shells", "/shells/$reference", "/submodels", "/submodels/$path", "/submodels/$value", "/concept-descriptions", "/shell-descriptors", "/lookup/shells",
			aPump + "/submodel-refs", aData + "/submodel-elements", aData + "/submodel-elements/$path", aPump + aData + "/submodel-elements/$value"} {
			r.require(http.StatusBadRequest, "GET", path+"?"+query, noBody)
		}
	}
	for path, query := range map[string]string{
		"/shells": "assetIds=" + b64(`{"name":"x"}`), "/submodels": "semanticId=!", "/lookup/shells": "assetIds=" + b64(`"text"`),
		"/concept-descriptions": "isCaseOf=" + b64(`{"type":"ExternalReference","keys":[]}`), "/shell-descriptors": "assetKind=Thing",
		"/serialization": "includeConceptDescriptions=maybe",
	} {
		r.require(http.StatusBadRequest, "GET", path+"?"+query, noBody)
	}
	// A cursor is good for the list that it was given out for alone.
	for i := range 3 {
		r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:`+string(rune('a'+i))+`"}`)
	}
	cursor := r.require(http.StatusOK, "GET", "/submodels?limit=1", noBody).page(t).Paging.Cursor
	require.NotEmpty(t, cursor)
	r.require(http.StatusOK, "GET", "/submodels?limit=1&cursor="+cursor, noBody)
	r.require(http.StatusBadRequest, "GET", "/concept-descriptions?cursor="+cursor, noBody)
	// Far too much is as much as there may be.
	r.require(http.StatusOK, "GET", "/submodels?limit=99999999999999999999999", noBody)
}

func TestPaging(t *testing.T) {
	r := start(t, rigOptions{})
	want := map[string]bool{dataID: true}
	for i := range 12 {
		id := "urn:m:" + string(rune('a'+i))
		want[id] = true
		r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"`+id+`"}`)
	}
	for _, limit := range []string{"1", "5", "13", "100"} {
		seen, cursor := map[string]bool{}, ""
		for {
			p := r.require(http.StatusOK, "GET", "/submodels?limit="+limit+"&cursor="+cursor, noBody).page(t)
			for _, raw := range p.Result {
				var s struct{ ID string }
				require.NoError(t, json.Unmarshal(raw, &s))
				require.False(t, seen[s.ID])
				seen[s.ID] = true
			}
			if cursor = p.Paging.Cursor; cursor == "" {
				break
			}
		}
		require.Equal(t, want, seen)
	}
}

// walk gathers a paged list entry by entry.
func (r *rig) walk(path string) []string {
	r.t.Helper()
	var all []string
	for cursor := ""; ; {
		p := r.require(http.StatusOK, "GET", path+"?limit=1&cursor="+cursor, noBody).page(r.t)
		require.LessOrEqual(r.t, len(p.Result), 1)
		for _, raw := range p.Result {
			all = append(all, string(raw))
		}
		if cursor = p.Paging.Cursor; cursor == "" {
			return all
		}
	}
}

func TestPagesWithinDocuments(t *testing.T) {
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:a"}`)
	r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:z","submodelElements":[{"modelType":"Capability","idShort":"last"}]}`)
	require.Len(t, r.walk(aPump+"/submodel-refs"), 2)
	require.Len(t, r.walk(aData+"/submodel-elements"), 16)
	require.Len(t, r.walk(aData+"/submodel-elements/$metadata"), 16)
	require.Len(t, r.walk(aData+"/submodel-elements/$reference"), 16)

	var whole []string
	require.NoError(t, json.Unmarshal([]byte(r.require(http.StatusOK, "GET", aData+"/$path", noBody).body), &whole))
	paths := r.walk(aData + "/submodel-elements/$path")
	require.Len(t, paths, len(whole))
	require.Equal(t, append(paths, `"last"`), r.walk("/submodels/$path"))

	// What comes and goes before the place of a cursor does not shift the page.
	first := r.require(http.StatusOK, "GET", aData+"/submodel-elements/$metadata?limit=3", noBody).page(t)
	r.require(http.StatusNoContent, "DELETE", aData+"/submodel-elements/speed", noBody)
	next := r.require(http.StatusOK, "GET", aData+"/submodel-elements/$metadata?limit=1&cursor="+first.Paging.Cursor, noBody).page(t)
	require.Contains(t, string(next.Result[0]), `"span"`)
	r.require(http.StatusNoContent, "DELETE", aData+"/submodel-elements/title", noBody)
	next = r.require(http.StatusOK, "GET", aData+"/submodel-elements/$metadata?limit=1&cursor="+first.Paging.Cursor, noBody).page(t)
	require.NotEmpty(t, next.Result)
}

func TestFilters(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{NoOwnDescriptors: true}})
	r.require(http.StatusCreated, "POST", "/shells", `{"modelType":"AssetAdministrationShell","id":"urn:other","idShort":"Other","assetInformation":{"assetKind":"Type","globalAssetId":"urn:asset:other","specificAssetIds":[{"name":"plant","value":"north"}]}}`)
	r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:other","idShort":"Other"}`)
	r.require(http.StatusCreated, "POST", "/shell-descriptors", `{"id":"urn:d1","assetKind":"Instance","assetType":"urn:t","globalAssetId":"urn:asset:d1"}`)
	r.require(http.StatusCreated, "POST", "/shell-descriptors", `{"id":"urn:d2","assetKind":"Type"}`)
	asset := func(name, value string) string {
		return "assetIds=" + b64(`{"name":"`+name+`","value":"`+value+`"}`)
	}
	semantic := func(value string) string {
		return b64(`{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"` + value + `"}]}`)
	}
	for query, want := range map[string]int{
		"/shells": 2, "/shells?idShort=Pump": 1, "/shells?idShort=pump": 0, "/shells?" + asset("serial", "P-1"): 1,
		"/shells?" + asset("plant", "north"): 2, "/shells?" + asset("plant", "north") + "&" + asset("serial", "P-1"): 1,
		"/shells?" + asset("plant", "north") + "&" + asset("serial", "P-2"):        0,
		"/shells?" + asset("globalAssetId", "urn:asset:other"):                     1,
		"/shells/$reference?" + asset("globalAssetId", "urn:asset:pump"):           1,
		"/shells?idShort=Other&" + asset("serial", "P-1"):                          0,
		"/submodels?idShort=Data":                                                  1,
		"/submodels?semanticId=" + semantic("urn:semantic:data"):                   1,
		"/submodels?semanticId=" + b64("urn:semantic:data"):                        1,
		"/submodels?semanticId=" + semantic("urn:semantic:other"):                  0,
		"/submodels/$reference?idShort=Other":                                      1,
		"/submodels/$metadata?idShort=Other":                                       1,
		"/submodels/$value?idShort=Other":                                          1,
		"/submodels/$path?idShort=Other":                                           0,
		"/concept-descriptions?isCaseOf=" + semantic("urn:case"):                   1,
		"/concept-descriptions?idShort=Speed":                                      1,
		"/concept-descriptions?dataSpecificationRef=" + semantic("urn:none"):       0,
		"/shell-descriptors?assetKind=Type":                                        1,
		"/shell-descriptors?assetKind=Instance&assetType=" + b64("urn:t"):          1,
		"/lookup/shells?" + asset("plant", "north"):                                2,
		"/lookup/shells?" + asset("globalAssetId", "urn:asset:d1"):                 1,
		"/lookup/shells?" + asset("plant", "north") + "&" + asset("serial", "P-1"): 1,
	} {
		require.Len(t, r.require(http.StatusOK, "GET", query, noBody).page(t).Result, want, query)
	}
}

func TestASemanticIDIsComparedAsAWhole(t *testing.T) {
	r := start(t, rigOptions{})
	key := func(kind, value string) string { return `{"type":"` + kind + `","value":"` + value + `"}` }
	ref := func(kind string, keys ...string) string {
		return `{"type":"` + kind + `","keys":[` + strings.Join(keys, ",") + `]}`
	}
	refs := map[string]string{
		"urn:1": ref("ExternalReference", key("GlobalReference", "urn:s")),
		"urn:2": ref("ExternalReference", key("GlobalReference", "urn:s"), key("FragmentReference", "part")),
		"urn:3": ref("ExternalReference", key("GlobalReference", "urn:s"), key("FragmentReference", "other")),
		"urn:4": ref("ModelReference", key("ConceptDescription", "urn:s")),
	}
	for id, ref := range refs {
		r.require(201, "POST", "/submodels", `{"modelType":"Submodel","id":"`+id+`","idShort":"M","semanticId":`+ref+
			`,"submodelElements":[{"modelType":"Capability","idShort":"c"}]}`)
	}
	for id, ref := range refs {
		require.Equal(t, []string{id}, r.ids("/submodels?semanticId="+b64(ref)))
		for _, form := range []string{"/$reference", "/$metadata", "/$value", "/$path"} {
			require.Len(t, r.require(200, "GET", "/submodels"+form+"?semanticId="+b64(ref), noBody).page(t).Result, 1, form)
		}
	}
	require.Empty(t, r.ids("/submodels?semanticId="+b64(ref("ExternalReference", key("GlobalReference", "urn:s"), key("FragmentReference", "none")))))
	// A bare value is that of the only key. Pages hold what is selected alone.
	require.Equal(t, []string{"urn:1", "urn:4"}, r.ids("/submodels?semanticId="+b64("urn:s")))
	first := r.require(200, "GET", "/submodels?limit=1&semanticId="+b64("urn:s"), noBody).page(t)
	require.Len(t, first.Result, 1)
	require.Equal(t, []string{"urn:4"}, r.ids("/submodels?limit=1&semanticId="+b64("urn:s")+"&cursor="+first.Paging.Cursor))
	require.Empty(t, r.require(200, "GET", "/submodels?limit=2&semanticId="+b64("urn:s"), noBody).page(t).Paging.Cursor)
}

func TestExternalSubjectsOfAssetIDs(t *testing.T) {
	r := start(t, rigOptions{})
	of := func(subject string) string {
		id := `{"name":"serial","value":"1"`
		if subject != "" {
			id += `,"externalSubjectId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"` + subject + `"}]}`
		}
		return id + "}"
	}
	for id, subject := range map[string]string{"urn:a": "urn:customer:a", "urn:b": "urn:customer:b", "urn:c": ""} {
		r.require(201, "POST", "/shells", `{"modelType":"AssetAdministrationShell","id":"`+id+`","idShort":"S","assetInformation":{"assetKind":"Instance","specificAssetIds":[`+of(subject)+`]}}`)
		r.require(201, "POST", "/lookup/shells/"+b64(id+":link"), `[`+of(subject)+`]`)
		r.require(201, "POST", "/shell-descriptors", `{"id":"`+id+`:desc","specificAssetIds":[`+of(subject)+`]}`)
	}
	for subject, ids := range map[string]string{
		"urn:customer:a": `["urn:a","urn:a:desc","urn:a:link"]`, "urn:customer:b": `["urn:b","urn:b:desc","urn:b:link"]`, "urn:customer:none": `[]`,
		"": `["urn:a","urn:a:desc","urn:a:link","urn:b","urn:b:desc","urn:b:link","urn:c","urn:c:desc","urn:c:link"]`,
	} {
		want := `{"paging_metadata":{},"result":` + ids + `}`
		r.equal(want, "/lookup/shells?assetIds="+b64(of(subject)))
		require.JSONEq(t, want, r.require(200, "POST", "/lookup/shellsByAssetLink", `[`+of(subject)+`]`).body)
	}
	require.Equal(t, []string{"urn:b"}, r.ids("/shells?assetIds="+b64(of("urn:customer:b"))))
	require.Len(t, r.require(200, "GET", "/shells/$reference?assetIds="+b64(of("urn:customer:b")), noBody).page(t).Result, 1)
}

func TestShell(t *testing.T) {
	r := start(t, rigOptions{})
	r.equal(pump, aPump)
	r.equal(`{"type":"ModelReference","keys":[{"type":"AssetAdministrationShell","value":"`+pumpID+`"}]}`, aPump+"/$reference")
	r.equal(`{"assetKind":"Instance","globalAssetId":"urn:asset:pump","assetType":"urn:type:pump","specificAssetIds":[{"name":"serial","value":"P-1"},{"name":"plant","value":"north"}]}`, aPump+"/asset-information")
	r.require(http.StatusNoContent, "PUT", aPump+"/asset-information", `{"assetKind":"Type","globalAssetId":"urn:new"}`)
	r.equal(`{"assetKind":"Type","globalAssetId":"urn:new"}`, aPump+"/asset-information")
	r.require(http.StatusBadRequest, "PUT", aPump+"/asset-information", `{"assetKind":"Thing"}`)

	ref := `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:more"}]}`
	made := r.require(http.StatusCreated, "POST", aPump+"/submodel-refs", ref)
	require.Equal(t, v31+aPump+"/submodel-refs/"+b64("urn:more"), made.header.Get("Location"))
	r.require(http.StatusConflict, "POST", aPump+"/submodel-refs", ref)
	r.require(http.StatusBadRequest, "POST", aPump+"/submodel-refs", `{"type":"ModelReference","keys":[{"type":"AssetAdministrationShell","value":"x"}]}`)
	r.require(http.StatusNoContent, "DELETE", aPump+"/submodel-refs/"+b64("urn:more"), noBody)
	r.require(http.StatusNotFound, "DELETE", aPump+"/submodel-refs/"+b64("urn:more"), noBody)
	r.require(http.StatusBadRequest, "PUT", aPump, `{"modelType":"AssetAdministrationShell","id":"urn:another","assetInformation":{"assetKind":"Instance","globalAssetId":"x"}}`)
}

func TestConditions(t *testing.T) {
	r := start(t, rigOptions{})
	first := r.require(http.StatusOK, "GET", aData, noBody)
	require.Equal(t, `"1"`, first.header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, r.send("GET", aData, noBody, "If-None-Match", `"7", "1"`).status)

	value := aData + "/submodel-elements/speed/$value"
	for _, tag := range []string{`"2"`, `1`, `W/"1"`, `"x"`, `""`, `"01"`, `"99999999999999999999"`} {
		r.require(http.StatusPreconditionFailed, "PATCH", value, "13", "If-Match", tag)
	}
	r.require(http.StatusPreconditionFailed, "PATCH", value, "13", "If-Match", `"2", W/"1"`)
	r.require(http.StatusBadRequest, "PATCH", value, "13", "If-Match", strings.Repeat(`"1",`, 101))
	changed := r.require(http.StatusNoContent, "PATCH", value, "13", "If-Match", `"7", "1"`)
	require.Equal(t, `"2"`, changed.header.Get("ETag"))
	r.equal("13", value)

	for _, w := range []struct{ method, path, body string }{
		{"PUT", aData, everything}, {"PATCH", aData, `{}`}, {"PATCH", aData + "/$metadata", `{}`}, {"PATCH", aData + "/$value", `{}`},
		{"POST", aData + "/submodel-elements", `{"modelType":"Capability","idShort":"more"}`},
		{"PUT", aData + "/submodel-elements/speed", `{"modelType":"Capability"}`},
		{"PATCH", aData + "/submodel-elements/speed", `{}`}, {"PATCH", aData + "/submodel-elements/speed/$metadata", `{}`},
		{"DELETE", aData + "/submodel-elements/speed", noBody}, {"DELETE", aData, noBody},
		{"PUT", aPump, pump}, {"DELETE", aPump, noBody}, {"PUT", aPump + "/asset-information", `{"assetKind":"Type","globalAssetId":"x"}`},
	} {
		r.require(http.StatusPreconditionFailed, w.method, w.path, w.body, "If-Match", `"9"`)
	}
	r.require(http.StatusPreconditionFailed, "PUT", aData, everything, "If-None-Match", "*")
	r.require(http.StatusNoContent, "PUT", aData, everything, "If-Match", "*")
	r.require(http.StatusPreconditionFailed, "PUT", "/submodels/"+b64("urn:new"), `{"modelType":"Submodel"}`, "If-Match", "*")
	r.require(http.StatusNoContent, "PUT", aData, everything, "If-Match", " ")
	r.require(http.StatusCreated, "PUT", "/submodels/"+b64("urn:new"), `{"modelType":"Submodel"}`, "If-None-Match", "*")
}

func TestRegistry(t *testing.T) {
	r := start(t, rigOptions{})
	const endpoints = `"endpoints":[{"interface":"SUBMODEL-3.1","protocolInformation":{"href":"https://example.com/s"}}]`
	one := `{"id":"urn:s1",` + endpoints + `}`
	shell := "/shell-descriptors/" + b64("urn:shell")
	r.require(http.StatusCreated, "POST", "/shell-descriptors", `{"id":"urn:shell","idShort":"Shell","submodelDescriptors":[`+one+`]}`)
	nested := shell + "/submodel-descriptors"
	r.require(http.StatusConflict, "POST", nested, one)
	made := r.require(http.StatusCreated, "POST", nested, `{"id":"urn:s2",`+endpoints+`}`)
	require.Equal(t, v31+nested+"/"+b64("urn:s2"), made.header.Get("Location"))
	require.Len(t, r.walk(nested), 2)
	r.equal(one, nested+"/"+b64("urn:s1"))
	r.require(http.StatusNoContent, "PUT", nested+"/"+b64("urn:s1"), `{"id":"urn:s1","idShort":"Named",`+endpoints+`}`)
	require.Contains(t, r.require(http.StatusOK, "GET", nested+"/"+b64("urn:s1"), noBody).body, "Named")
	r.require(http.StatusBadRequest, "PUT", nested+"/"+b64("urn:s1"), `{"id":"urn:s9",`+endpoints+`}`)
	r.require(http.StatusCreated, "PUT", nested+"/"+b64("urn:s3"), `{`+endpoints+`}`)
	r.require(http.StatusNoContent, "DELETE", nested+"/"+b64("urn:s3"), noBody)
	r.require(http.StatusNotFound, "DELETE", nested+"/"+b64("urn:s3"), noBody)
	r.require(http.StatusNotFound, "GET", nested+"/"+b64("urn:s3"), noBody)
	r.require(http.StatusNotFound, "GET", "/shell-descriptors/"+b64("urn:none")+"/submodel-descriptors", noBody)
}

func TestDiscovery(t *testing.T) {
	r := start(t, rigOptions{})
	at := "/lookup/shells/" + b64("urn:elsewhere")
	links := `[{"name":"globalAssetId","value":"urn:asset:far"},{"name":"serial","value":"F-1"}]`
	r.require(http.StatusNotFound, "GET", at, noBody)
	require.JSONEq(t, links, r.require(http.StatusCreated, "POST", at, links).body)
	r.equal(links, at)
	search := func(body string) []json.RawMessage {
		return r.require(http.StatusOK, "POST", "/lookup/shellsByAssetLink", body).page(t).Result
	}
	require.Equal(t, []json.RawMessage{json.RawMessage(`"urn:elsewhere"`)}, search(`[{"name":"serial","value":"F-1"}]`))
	require.Empty(t, search(`[{"name":"serial","value":"F-1"},{"name":"serial","value":"F-2"}]`))
	require.Len(t, search(`[]`), 2)
	require.Len(t, r.walk("/lookup/shells"), 2)
	r.require(http.StatusBadRequest, "POST", "/lookup/shellsByAssetLink", `{"name":"x"}`)
	r.require(http.StatusNoContent, "DELETE", at, noBody)
	r.require(http.StatusNotFound, "DELETE", at, noBody)
	require.Empty(t, search(`[{"name":"serial","value":"F-1"}]`))
}

func TestPermissiveServiceKeepsWhatItWasGiven(t *testing.T) {
	odd := `{"modelType":"Submodel","id":"urn:odd","submodelElements":[{"modelType":"Capability","idShort":"a b/c"}]}`
	r := start(t, rigOptions{service: repository.Options{Verification: repository.VerifyPermissive}})
	r.require(http.StatusCreated, "POST", "/submodels", odd)
	r = start(t, rigOptions{})
	a := r.require(http.StatusBadRequest, "POST", "/submodels", odd)
	require.Contains(t, a.body, "submodelElements[0].idShort")
}

// A page of paths may end within a submodel. What comes before it or goes with it shifts nothing.
func TestPathsOfSubmodelsThatComeAndGo(t *testing.T) {
	submodel := func(id string, names ...string) string {
		elements := make([]string, len(names))
		for i, name := range names {
			elements[i] = `{"modelType":"Capability","idShort":"` + name + `"}`
		}
		return `{"modelType":"Submodel","id":"urn:` + id + `","submodelElements":[` + strings.Join(elements, ",") + `]}`
	}
	for name, c := range map[string]struct {
		change func(r *rig)
		want   string
	}{
		"nothing":    {func(*rig) {}, "b1 b2 b3 b4 d1 d2 d3"},
		"one before": {func(r *rig) { r.require(http.StatusCreated, "POST", "/submodels", submodel("a", "a1")) }, "b1 b2 b3 b4 d1 d2 d3"},
		"one after":  {func(r *rig) { r.require(http.StatusCreated, "POST", "/submodels", submodel("c", "c1")) }, "b1 b2 b3 b4 c1 d1 d2 d3"},
		"itself":     {func(r *rig) { r.require(http.StatusNoContent, "DELETE", "/submodels/"+b64("urn:b"), noBody) }, "b1 b2 d1 d2 d3"},
		"a path before": {func(r *rig) {
			r.require(http.StatusNoContent, "PUT", "/submodels/"+b64("urn:b"), submodel("b", "b0", "b1", "b2", "b3", "b4"))
		}, "b1 b2 b3 b4 d1 d2 d3"},
		"paths before": {func(r *rig) {
			r.require(http.StatusNoContent, "PUT", "/submodels/"+b64("urn:b"), submodel("b", "b2", "b3", "b4"))
		}, "b1 b2 b3 b4 d1 d2 d3"},
		"the last path": {func(r *rig) {
			r.require(http.StatusNoContent, "PUT", "/submodels/"+b64("urn:b"), submodel("b", "b3", "b4"))
		}, "b1 b2 b3 b4 d1 d2 d3"},
		"all of its own": {func(r *rig) { r.require(http.StatusNoContent, "PUT", "/submodels/"+b64("urn:b"), submodel("b")) }, "b1 b2 d1 d2 d3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, rigOptions{})
			r.require(http.StatusNoContent, "DELETE", aData, noBody)
			r.require(http.StatusCreated, "POST", "/submodels", submodel("b", "b1", "b2", "b3", "b4"))
			r.require(http.StatusCreated, "POST", "/submodels", submodel("d", "d1", "d2", "d3"))
			var got []string
			for cursor, first := "", true; first || cursor != ""; first = false {
				p := r.require(http.StatusOK, "GET", "/submodels/$path?limit=2&cursor="+cursor, noBody).page(t)
				for _, raw := range p.Result {
					got = append(got, strings.Trim(string(raw), `"`))
				}
				if cursor = p.Paging.Cursor; first {
					c.change(r)
				}
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// An id that is omitted of a path makes no other operation of it.
func TestEmptyIDsAreRefused(t *testing.T) {
	r := start(t, rigOptions{})
	for method, body := range map[string]string{"GET": noBody, "PUT": everything, "PATCH": everything, "DELETE": noBody} {
		r.require(http.StatusBadRequest, method, "/shells//submodels/"+b64(dataID), body)
		r.require(http.StatusNotFound, method, "/shells/"+b64(pumpID)+"/submodels/", body)
		r.require(http.StatusNotFound, method, "/submodels/", body)
	}
	for _, path := range []string{"/shells//asset-information", "/shells//submodels/" + b64(dataID) + "/submodel-elements", "/submodels//submodel-elements/speed",
		"/shell-descriptors//submodel-descriptors", aData + "/submodel-elements//$value"} {
		r.require(http.StatusBadRequest, "GET", path, noBody)
	}
	for _, path := range []string{aData + "/submodel-elements//invoke", aData + "/submodel-elements//invoke-async", "/shells//submodel-refs"} {
		r.require(http.StatusBadRequest, "POST", path, `{}`)
	}
	r.require(http.StatusOK, "GET", aData, noBody)
}

func TestASubmodelOfAShellGoesWithItsReference(t *testing.T) {
	r := start(t, rigOptions{})
	r.require(http.StatusPreconditionFailed, "DELETE", aPump+aData, noBody, "If-Match", `"9"`)
	r.contains(r.require(http.StatusOK, "GET", aPump+"/submodel-refs", noBody), dataID)
	r.require(http.StatusNoContent, "DELETE", aPump+aData, noBody)
	require.NotContains(t, r.require(http.StatusOK, "GET", aPump+"/submodel-refs", noBody).body, dataID)
	r.require(http.StatusNotFound, "GET", aData, noBody)
	// One that is referred to and not there keeps its reference.
	r.require(http.StatusNotFound, "DELETE", aPump+"/submodels/"+b64("urn:example:submodel:gone"), noBody)
	require.Len(t, r.walk(aPump+"/submodel-refs"), 1)
}

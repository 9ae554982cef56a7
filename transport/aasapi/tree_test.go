package aasapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// kinds are the value form of each element of the fixture; empty where there is none.
var kinds = []struct{ path, value string }{
	{"speed", `12.5`},
	{"label", `"a \"b\""`},
	{"title", `[{"de":"Pumpe"},{"en":"pump"}]`},
	{"span", `{"min":1,"max":9}`},
	{"link", `{"type":"ModelReference","keys":[{"type":"Submodel","value":"` + dataID + `"},{"type":"Property","value":"speed"}]}`},
	{"relation", `{"first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:b"}]}}`},
	{"noted", `{"first":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:a"}]},"second":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:b"}]},"annotations":{"note":"n"}}`},
	{"bytes", `{"contentType":"application/octet-stream"}`},
	{"manual", `{"contentType":"application/pdf","value":"https://example.com/manual.pdf"}`},
	{"group", `{"depth":3,"rows":[{"cell":7},{"cell":8}]}`},
	{"group.rows[1].cell", `8`},
	{"series", `[1,2]`},
	{"series[0]", `1`},
	{"part", `{"statements":{"count":2},"entityType":"SelfManagedEntity","globalAssetId":"urn:asset:part"}`},
	{"event", `{"observed":{"type":"ModelReference","keys":[{"type":"Submodel","value":"` + dataID + `"}]}}`},
	{"pumping", ``},
	{"double", ``},
}

func TestModifiersOnEveryKind(t *testing.T) {
	r := start(t, rigOptions{})
	for _, tree := range trees {
		for _, k := range kinds {
			at := tree + "/submodel-elements/" + strings.NewReplacer("[", "%5B", "]", "%5D").Replace(k.path)
			require.Contains(t, r.require(http.StatusOK, "GET", at, noBody).body, `"modelType":"`)
			if k.value == "" {
				r.require(http.StatusBadRequest, "GET", at+"/$value", noBody)
				r.require(http.StatusBadRequest, "GET", at+"/$metadata", noBody)
			} else {
				r.equal(k.value, at+"/$value")
				metadata := r.require(http.StatusOK, "GET", at+"/%24metadata", noBody)
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(metadata.body), &object))
				require.NotContains(t, object, "value")
				require.Contains(t, object, "modelType")
			}
			var ref struct {
				Keys []struct{ Type, Value string }
			}
			require.NoError(t, json.Unmarshal([]byte(r.require(http.StatusOK, "GET", at+"/$reference", noBody).body), &ref))
			require.Equal(t, dataID, ref.Keys[0].Value)
			require.Len(t, ref.Keys, 1+len(strings.FieldsFunc(k.path, func(c rune) bool { return c == '.' || c == '[' })))
		}
		at := tree + "/submodel-elements/"
		r.equal(`["group","group.depth","group.rows","group.rows[0]","group.rows[0].cell","group.rows[1]","group.rows[1].cell"]`, at+"group/$path")
		r.equal(`["group","group.depth","group.rows"]`, at+"group/$path?level=core")
		r.require(http.StatusBadRequest, "GET", at+"speed/$path", noBody)
		require.NotContains(t, r.require(http.StatusOK, "GET", at+"group?level=core", noBody).body, "cell")
		require.NotContains(t, r.require(http.StatusOK, "GET", at+"bytes", noBody).body, "AAEC")
		require.Contains(t, r.require(http.StatusOK, "GET", at+"bytes?extent=withBlobValue", noBody).body, "AAEC")
		require.Contains(t, r.require(http.StatusOK, "GET", at+"bytes/$value?extent=withBlobValue", noBody).body, "AAEC")

		require.NotContains(t, r.require(http.StatusOK, "GET", tree, noBody).body, "AAEC")
		r.equal(everything, tree+"?extent=withBlobValue")
		require.NotContains(t, r.require(http.StatusOK, "GET", tree+"?level=core", noBody).body, "depth")
		require.NotContains(t, r.require(http.StatusOK, "GET", tree+"/$metadata", noBody).body, "submodelElements")
		r.equal(`{"type":"ModelReference","keys":[{"type":"Submodel","value":"`+dataID+`"}]}`, tree+"/$reference")
		var values map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(r.require(http.StatusOK, "GET", tree+"/$value", noBody).body), &values))
		for _, k := range kinds {
			if k.value != "" && !strings.ContainsAny(k.path, ".[") {
				require.JSONEq(t, k.value, string(values[k.path]), k.path)
			}
		}
		require.Len(t, values, 13)
		var all struct{ Result map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(r.require(http.StatusOK, "GET", tree+"/submodel-elements/$value", noBody).body), &all))
		require.Equal(t, values, all.Result)
	}
	old := r.sendTo("GET", "/api/v3.0"+aData+"/submodel-elements/$value?limit=1", noBody)
	require.Equal(t, []json.RawMessage{json.RawMessage(`{"speed":12.5}`)}, old.page(t).Result)
	require.NotContains(t, r.require(http.StatusOK, "GET", "/submodels", noBody).body, "AAEC")
	require.Contains(t, r.require(http.StatusOK, "GET", "/submodels?extent=withBlobValue", noBody).body, "AAEC")
}

func TestElements(t *testing.T) {
	for i, tree := range trees {
		r := start(t, rigOptions{})
		at := tree + "/submodel-elements"
		made := r.require(http.StatusCreated, "POST", at, `{"modelType":"Property","idShort":"extra","valueType":"xs:int","value":"4"}`)
		require.Equal(t, v31+at+"/extra", made.header.Get("Location"))
		r.require(http.StatusConflict, "POST", at, `{"modelType":"Capability","idShort":"extra"}`)
		r.require(http.StatusBadRequest, "POST", at, `{"modelType":"Capability"}`)
		r.require(http.StatusBadRequest, "POST", at, `{"modelType":"Thing","idShort":"thing"}`)
		made = r.require(http.StatusCreated, "POST", at+"/group", `{"modelType":"Property","idShort":"extra","valueType":"xs:int","value":"5"}`)
		require.Equal(t, v31+at+"/group.extra", made.header.Get("Location"))
		made = r.require(http.StatusCreated, "POST", at+"/series", `{"modelType":"Property","valueType":"xs:int","value":"3"}`)
		require.Equal(t, v31+at+"/series%5B2%5D", made.header.Get("Location"))
		r.equal("3", strings.TrimPrefix(made.header.Get("Location"), v31)+"/$value")
		r.require(http.StatusNotFound, "POST", at+"/nowhere", `{"modelType":"Capability","idShort":"x"}`)
		r.require(http.StatusBadRequest, "POST", at+"/speed", `{"modelType":"Capability","idShort":"x"}`)

		r.require(http.StatusNoContent, "PUT", at+"/extra", `{"modelType":"Property","idShort":"extra","valueType":"xs:int","value":"6"}`)
		r.equal("6", at+"/extra/$value")
		r.require(http.StatusBadRequest, "PUT", at+"/extra", `{"modelType":"Capability","idShort":"renamed"}`)
		made = r.require(http.StatusCreated, "PUT", at+"/group.fresh", `{"modelType":"Capability"}`)
		require.Equal(t, v31+at+"/group.fresh", made.header.Get("Location"))
		r.require(http.StatusNotFound, "PUT", at+"/series[9]", `{"modelType":"Property","valueType":"xs:int"}`)
		r.require(http.StatusNoContent, "PATCH", at+"/extra", `{"value":"7"}`)
		r.equal("7", at+"/extra/$value")
		r.require(http.StatusBadRequest, "PATCH", at+"/extra", `{"idShort":"renamed"}`)
		r.require(http.StatusBadRequest, "PATCH", at+"/extra", `{"value":"seven"}`)
		r.require(http.StatusNoContent, "PATCH", at+"/extra/$metadata", `{"category":"VARIABLE"}`)
		require.Contains(t, r.require(http.StatusOK, "GET", at+"/extra", noBody).body, "VARIABLE")
		r.require(http.StatusNoContent, "PATCH", at+"/extra/$value", `8`)
		r.equal("8", at+"/extra/$value")
		r.require(http.StatusBadRequest, "PATCH", at+"/extra/$value", `"eight"`)
		r.require(http.StatusNoContent, "PATCH", at+"/group/$value", `{"rows":[{"cell":70},{"cell":80}]}`)
		r.equal("80", at+"/group.rows[1].cell/$value")
		r.equal("3", at+"/group.depth/$value")
		r.require(http.StatusNoContent, "DELETE", at+"/series[0]", noBody)
		r.equal("[2,3]", at+"/series/$value")
		r.require(http.StatusNoContent, "DELETE", at+"/extra", noBody)
		r.require(http.StatusNotFound, "DELETE", at+"/extra", noBody)
		r.require(http.StatusNotFound, "GET", at+"/extra", noBody)
		for _, bad := range []string{".", "a..b", "a[", "a[x]", "[0]", "a%00b", "a%ff", "a.", "a[-1]", "a%20b"} {
			r.require(http.StatusBadRequest, "GET", at+"/"+bad+"/$value", noBody)
		}

		r.require(http.StatusNoContent, "PATCH", tree, `{"category":"VARIABLE"}`)
		r.require(http.StatusBadRequest, "PATCH", tree, `{"id":"urn:renamed"}`)
		r.require(http.StatusNoContent, "PATCH", tree+"/$metadata", `{"idShort":"Renamed"}`)
		r.require(http.StatusNoContent, "PATCH", tree+"/$value", `{"speed":99}`)
		require.Contains(t, r.require(http.StatusOK, "GET", tree, noBody).body, `"idShort":"Renamed"`)
		r.equal("99", at+"/speed/$value")
		r.require(http.StatusNoContent, "PUT", tree, everything)
		r.require(http.StatusNoContent, "DELETE", tree, noBody)
		r.require(http.StatusNotFound, "GET", tree, noBody)
		refs := r.require(http.StatusOK, "GET", aPump+"/submodel-refs", noBody).page(t).Result
		require.Len(t, refs, 2-i, "below a shell the reference goes too")
	}
}

func TestShellMustReferToTheSubmodel(t *testing.T) {
	r := start(t, rigOptions{})
	r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:strange"}`)
	for _, tail := range []string{"", "/$value", "/submodel-elements", "/submodel-elements/speed"} {
		r.require(http.StatusNotFound, "GET", aPump+"/submodels/"+b64("urn:strange")+tail, noBody)
		r.require(http.StatusNotFound, "GET", "/shells/"+b64("urn:none")+aData+tail, noBody)
	}
	r.require(http.StatusNotFound, "PUT", aPump+"/submodels/"+b64("urn:strange"), `{"modelType":"Submodel"}`)
	gone := aPump + "/submodels/" + b64("urn:example:submodel:gone")
	r.require(http.StatusNotFound, "GET", gone, noBody)
	r.require(http.StatusNoContent, "PUT", gone, `{"modelType":"Submodel","idShort":"Found"}`)
	require.Contains(t, r.require(http.StatusOK, "GET", gone, noBody).body, "Found")
}

func TestNeighboursAreNeverOverwritten(t *testing.T) {
	r := start(t, rigOptions{})
	const writers, rounds = 8, 20
	for w := range writers {
		r.require(http.StatusCreated, "POST", aData+"/submodel-elements", fmt.Sprintf(`{"modelType":"Property","idShort":"w%d","valueType":"xs:int","value":"0"}`, w))
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			at := aData + "/submodel-elements/w" + strconv.Itoa(w)
			for n := 1; n <= rounds; n++ {
				a := r.send("PUT", at, fmt.Sprintf(`{"modelType":"Property","idShort":"w%d","valueType":"xs:int","value":"%d"}`, w, n))
				if a.status != http.StatusNoContent {
					t.Errorf("%d %s", a.status, a.body)
				}
				if a = r.send("PATCH", at+"/$value", strconv.Itoa(n)); a.status != http.StatusNoContent {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
	all.Wait()
	for w := range writers {
		r.equal(strconv.Itoa(rounds), aData+"/submodel-elements/w"+strconv.Itoa(w)+"/$value")
	}
	r.equal("12.5", aData+"/submodel-elements/speed/$value")
}

func TestAnswersAreAsTheDocumentHasThem(t *testing.T) {
	r := start(t, rigOptions{})
	r.strict = true
	theDocument(t)
	for _, path := range []string{"/shells", "/shells/$reference", aPump, aPump + "/$reference", aPump + "/asset-information", aPump + "/submodel-refs",
		"/submodels", "/submodels/$metadata", "/submodels/$reference", "/submodels/$path", "/concept-descriptions", "/concept-descriptions/" + b64("urn:concept:speed"),
		"/shell-descriptors", "/submodel-descriptors", "/lookup/shells", "/lookup/shells/" + b64(pumpID), "/serialization", "/description"} {
		r.require(http.StatusOK, "GET", path, noBody)
	}
	for _, tree := range trees {
		for _, tail := range []string{"", "?level=core", "/$metadata", "/$value", "/$reference", "/$path", "/submodel-elements", "/submodel-elements/$metadata",
			"/submodel-elements/$value", "/submodel-elements/$reference", "/submodel-elements/$path"} {
			r.require(http.StatusOK, "GET", tree+tail, noBody)
		}
		for _, k := range kinds {
			at := tree + "/submodel-elements/" + k.path
			r.require(http.StatusOK, "GET", at, noBody)
			r.require(http.StatusOK, "GET", at+"/$reference", noBody)
			if k.value != "" {
				r.require(http.StatusOK, "GET", at+"/$metadata", noBody)
			}
		}
		r.require(http.StatusOK, "GET", tree+"/submodel-elements/group/$path", noBody)
		r.require(http.StatusCreated, "POST", tree+"/submodel-elements/group", `{"modelType":"Capability","idShort":"c`+strconv.Itoa(len(tree))+`"}`)
		r.require(http.StatusNoContent, "PATCH", tree+"/submodel-elements/speed/$value", "1")
		r.require(http.StatusNotFound, "GET", tree+"/submodel-elements/none", noBody)
		r.require(http.StatusBadRequest, "GET", tree+"?level=x", noBody)
	}
	r.require(http.StatusNotFound, "GET", "/shells/"+b64("x"), noBody)
	r.require(http.StatusBadRequest, "POST", "/shells", "{")
	r.require(http.StatusConflict, "POST", "/shells", pump)
}

// plant is a value source with one tag.
type plant struct {
	mu    sync.Mutex
	value string
}

func (p *plant) Values(_ context.Context, names []string) ([]repository.LiveValue, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	values := make([]repository.LiveValue, len(names))
	for i, name := range names {
		values[i] = repository.LiveValue{Value: p.value, Known: name == "tank.level"}
	}
	return values, nil
}

func (p *plant) Write(_ context.Context, name, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name == "tank.level" {
		p.value = value
	}
	return nil
}

func TestLiveValues(t *testing.T) {
	source := &plant{value: "40"}
	r := start(t, rigOptions{service: repository.Options{Values: source}})
	at := "/submodels/" + b64("urn:live")
	r.require(http.StatusCreated, "POST", "/submodels", `{"modelType":"Submodel","id":"urn:live","submodelElements":[
		{"modelType":"Property","idShort":"level","valueType":"xs:double","value":"1","qualifiers":[{"type":"tag","valueType":"xs:string","value":"tank.level"}]}]}`)
	for _, want := range []string{"40", "55"} {
		source.mu.Lock()
		source.value = want
		source.mu.Unlock()
		r.equal(want, at+"/submodel-elements/level/$value")
		r.equal(`{"level":`+want+`}`, at+"/$value")
		require.Contains(t, r.require(http.StatusOK, "GET", at, noBody, "If-None-Match", `"1"`).body, `"value":"`+want+`"`)
		require.Contains(t, r.require(http.StatusOK, "GET", "/submodels", noBody).body, `"value":"`+want+`"`)
		require.Contains(t, r.require(http.StatusOK, "GET", at+"/submodel-elements", noBody).body, `"value":"`+want+`"`)
	}
	r.require(http.StatusNoContent, "PATCH", at+"/submodel-elements/level/$value", "60")
	r.equal("60", at+"/submodel-elements/level/$value")
	r.require(http.StatusNoContent, "PATCH", at+"/$value", `{"level":65}`)
	r.equal("65", at+"/submodel-elements/level/$value")
	r.require(http.StatusNoContent, "PATCH", at+"/submodel-elements/level", `{"value":"70"}`)
	r.equal("70", at+"/submodel-elements/level/$value")
	r.require(http.StatusNoContent, "PATCH", at, `{"submodelElements":[{"idShort":"level","value":"75"}]}`)
	r.equal("75", at+"/submodel-elements/level/$value")
	r.require(http.StatusBadRequest, "PATCH", at+"/submodel-elements/level", `{"value":"much"}`)

	// What was read is put back, and the tank stays as it is.
	for _, path := range []string{at, at + "/submodel-elements/level"} {
		old := r.require(http.StatusOK, "GET", path, noBody)
		require.Contains(t, old.body, `"value":"75"`)
		source.mu.Lock()
		source.value = "80"
		source.mu.Unlock()
		r.require(http.StatusNoContent, "PUT", path, old.body, "If-Match", old.header.Get("ETag"))
		r.equal("80", at+"/submodel-elements/level/$value")
		require.Equal(t, old.header.Get("ETag"), r.require(http.StatusOK, "GET", path, noBody).header.Get("ETag"))
		source.mu.Lock()
		source.value = "75"
		source.mu.Unlock()
	}
}

// TestPagesEndForTheirBytes has documents that are larger together than a page may be.
func TestPagesEndForTheirBytes(t *testing.T) {
	r := start(t, rigOptions{})
	text := strings.Repeat("x", 5<<20)
	for i := range 5 {
		m := &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:big:" + strconv.Itoa(i)}}
		m.Elements = []aas.Element{&aas.Property{ElementCommon: aas.ElementCommon{Referable: aas.Referable{IDShort: "text"}}, ValueType: aas.String, Value: &text}}
		_, err := r.service.Submodels.Create(t.Context(), m)
		require.NoError(t, err)
	}
	first := r.require(http.StatusOK, "GET", "/submodels", noBody).page(t)
	require.Len(t, first.Result, 4)
	second := r.require(http.StatusOK, "GET", "/submodels?cursor="+first.Paging.Cursor, noBody).page(t)
	require.Len(t, second.Result, 2)
	require.Empty(t, second.Paging.Cursor)
}

func TestAConditionOnDelete(t *testing.T) {
	r := start(t, rigOptions{})
	for _, path := range []string{aPump, aData, aData + "/submodel-elements/speed"} {
		r.require(http.StatusPreconditionFailed, "DELETE", path, noBody, "If-None-Match", "*")
		r.require(http.StatusOK, "GET", path, noBody)
	}
}

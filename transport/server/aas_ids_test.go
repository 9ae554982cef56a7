package server_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

func TestEveryIDTravelsThroughEveryREST(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		for _, id := range oddIDs {
			body := shellBody(id, "Shell", id)
			body["assetInformation"].(object)["globalAssetId"] = id
			for path, body := range map[string]object{shells: body, submodels: submodelBody(id, "Model", property("v", "xs:int", "1")), concepts: {"id": id, "idShort": "Concept"}} {
				a := p.create(path, body)
				require.Equal(t, path+"/"+pathOf(id), a.header.Get("Location"), id)
				for _, encoded := range []string{pathOf(id), everyByte(id), url.PathEscape(id)} {
					a = p.callWrong(accounts.Viewer, http.MethodGet, path+"/"+encoded, nil)
					require.Equal(t, 200, a.status, "%s: %s", id, a.body)
					require.Equal(t, id, a.object(t)["id"])
				}
				body["idShort"] = "Changed"
				a = p.callWrong(accounts.Admin, http.MethodPut, path+"/"+pathOf(id), body)
				require.Equal(t, 200, a.status, "%s: %s", id, a.body)
			}
			a := p.callWrong(accounts.Viewer, http.MethodGet, shells+"/"+pathOf(id)+"/submodels", nil)
			require.Equal(t, []string{id}, idsIn(t, a), id)
			a = p.callWrong(accounts.Viewer, http.MethodGet, registry+"/by-asset/"+pathOf(id), nil)
			require.Equal(t, []string{id}, idsIn(t, a), id)
			a = p.callWrong(accounts.Admin, http.MethodPut, submodels+"/"+pathOf(id)+"/submodel-elements/v/value", "2")
			require.Equal(t, 204, a.status, "%s: %s", id, a.body)
			a = p.callWrong(accounts.Viewer, http.MethodGet, submodels+"/"+pathOf(id)+"/submodel-elements/v/value", nil)
			require.Equal(t, "2", string(a.body), id)
		}
		for _, path := range []string{shells, submodels, concepts} {
			require.ElementsMatch(t, oddIDs, idsIn(t, p.get(path+"?pageSize=100")))
		}
		for _, id := range oddIDs {
			for _, path := range []string{shells, submodels, concepts} {
				a := p.callWrong(accounts.Admin, http.MethodDelete, path+"/"+pathOf(id), nil)
				require.Equal(t, 204, a.status, "%s: %s", id, a.body)
			}
		}
		for path, code := range map[string]string{shells: "AAS_NOT_FOUND", submodels: "SUBMODEL_NOT_FOUND", concepts: "CONCEPT_DESCRIPTION_NOT_FOUND"} {
			for _, id := range []string{".", "..", "%2e%2E", "a%0Ab", strings.Repeat("x", 2049), oddIDs[0] + "/submodels"} {
				a := p.callWrong(accounts.Viewer, http.MethodGet, path+"/"+strings.ReplaceAll(id, "/", "%2F"), nil)
				requireAASError(t, a, 404, code)
			}
		}
	})
}

// oddIDs are ids that a path or a router could take for something else.
var oddIDs = []string{
	"urn:example:aas:1", "https://example.com/ids/1?x=1&y=2#frag", "https://example.com/ids/aas/1", "0173-1#02-AAO677#002", "100%", "a%2Fb", "a%20b",
	"1+1=2", "with blank", "semi;colon", "comma,comma", "Überdruck/Kühlwasser", "https://example.com/submodels", "urn:x/submodels", "submodels",
	"a/submodel-elements/v/value", "value", "search", "by-asset", "%", "?", "'\"<>", "日本", `back\slash`, "a//b", "tail/", "/head", "a.b", "...", "~_-", "%C3%28", "$value", "a&b", "*",
}

// everyByte encodes every byte of an id, which stands for the same id (RFC 3986, section 6.2.2.2).
func everyByte(id string) string {
	var b strings.Builder
	for i := range len(id) {
		b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(id[i])|0x100, 16)[1:]))
	}
	return b.String()
}

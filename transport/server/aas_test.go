package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// onBothStores runs a test with shells kept in memory and in a database.
func onBothStores(t *testing.T, test func(t *testing.T, p *platform), change ...func(*engine.Options)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, start(t, change...)) })
	t.Run("sqlite", func(t *testing.T) {
		db := storetest.OpenSQLite(t, t.TempDir(), storage.Options{})
		test(t, start(t, append(change, func(o *engine.Options) { o.AAS.Store = db.AAS() })...))
	})
}

// requireAASError checks an error body of the AAS family and gives its message.
func requireAASError(t testing.TB, a answer, status int, code string) string {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	body := a.object(t)
	require.Equal(t, code, body["errorCode"], "%s", a.body)
	require.NotEmpty(t, body["message"])
	return body["message"].(string)
}

func requireStatusCode(t testing.TB, a answer, status int) answer {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	return a
}

// object is a JSON object.
type object = map[string]any

func shellBody(id, idShort string, submodels ...string) object {
	body := object{"id": id, "idShort": idShort, "assetInformation": object{"assetKind": "Instance", "globalAssetId": "urn:asset:" + id}}
	if submodels != nil {
		body["submodels"] = references(submodels...)
	}
	return body
}

func references(submodels ...string) []any {
	list := []any{}
	for _, id := range submodels {
		list = append(list, object{"type": "ModelReference", "keys": []any{object{"type": "Submodel", "value": id}}})
	}
	return list
}

func property(idShort, valueType, value string) object {
	return object{"modelType": "Property", "idShort": idShort, "valueType": valueType, "value": value}
}

func submodelBody(id, idShort string, elements ...any) object {
	body := object{"id": id, "idShort": idShort, "semanticId": object{"type": "ExternalReference",
		"keys": []any{object{"type": "GlobalReference", "value": "https://example.com/idta/" + idShort + "/3/0"}}}}
	if elements != nil {
		body["submodelElements"] = elements
	}
	return body
}

func (p *platform) create(path string, body any) answer {
	p.t.Helper()
	return requireStatusCode(p.t, p.call(accounts.Admin, http.MethodPost, path, body), http.StatusCreated)
}

func (p *platform) get(path string) answer {
	p.t.Helper()
	return p.call(accounts.Viewer, http.MethodGet, path, nil)
}

// idsIn returns the ids of the items of a list.
func idsIn(t testing.TB, a answer) []string {
	t.Helper()
	requireStatusCode(t, a, http.StatusOK)
	ids := []string{}
	for _, item := range a.object(t)["items"].([]any) {
		ids = append(ids, item.(object)["id"].(string))
	}
	return ids
}

// same compares JSON regardless of the order of members.
func same(t testing.TB, want any, got []byte) {
	t.Helper()
	require.JSONEq(t, jsonText(t, want), string(got))
}

const (
	shells    = "/api/v1/aas"
	submodels = "/api/v1/submodels"
	concepts  = "/api/v1/concept-descriptions"
	registry  = "/api/v1/aas-registry"
)

func TestAShellLivesOverREST(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		body := shellBody("urn:shell:1", "Pump")
		body["assetInformation"].(object)["specificAssetIds"] = []any{object{"name": "serial", "value": "0815"}}
		whole := object{"modelType": "AssetAdministrationShell", "id": "urn:shell:1", "idShort": "Pump",
			"assetInformation": body["assetInformation"], "submodels": []any{}}

		a := p.create(shells, body)
		same(t, whole, a.body)
		require.Equal(t, shells+"/urn:shell:1", a.header.Get("Location"))
		require.Equal(t, `"1"`, a.header.Get("ETag"))
		a = requireStatusCode(t, p.get(a.header.Get("Location")), 200)
		same(t, whole, a.body)
		require.Equal(t, "application/json", a.header.Get("Content-Type"))
		require.Equal(t, `"1"`, a.header.Get("ETag"))
		head := p.call(accounts.Viewer, http.MethodHead, shells+"/urn:shell:1", nil)
		require.Equal(t, strconv.Itoa(len(a.body)), head.header.Get("Content-Length"))
		require.Contains(t, requireAASError(t, p.call(accounts.Admin, http.MethodPost, shells, body), 409, "AAS_ALREADY_EXISTS"), "urn:shell:1")

		delete(whole, "modelType")
		same(t, object{"items": []any{whole}, "totalCount": 1, "page": 1, "pageSize": 20}, p.get(shells).body)
		same(t, object{"items": []any{whole}, "totalCount": 1}, p.get(registry+"/search?idShort=uM").body)
		same(t, object{"items": []any{whole}}, p.get(registry+"/by-asset/"+pathOf("urn:asset:urn:shell:1")).body)

		one := shells + "/urn:shell:1"
		requireStatusCode(t, p.call(accounts.Admin, http.MethodDelete, one, nil), 204)
		requireAASError(t, p.get(one), 404, "AAS_NOT_FOUND")
		requireAASError(t, p.get(one+"/submodels"), 404, "AAS_NOT_FOUND")
		requireAASError(t, p.call(accounts.Admin, http.MethodDelete, one, nil), 404, "AAS_NOT_FOUND")
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, one, body), 404, "AAS_NOT_FOUND")
		same(t, object{"items": []any{}, "totalCount": 0, "page": 1, "pageSize": 20}, p.get(shells).body)
	})
}

func TestAnUpdateOfAShellKeepsWhatItDoesNotName(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		body := shellBody("s", "Old", "a", "b")
		body["administration"] = object{"version": "1"}
		body["description"] = []any{object{"language": "de", "text": "Pumpe"}}
		body["derivedFrom"] = object{"type": "ModelReference", "keys": []any{object{"type": "AssetAdministrationShell", "value": "t"}}}
		p.create(shells, body)
		put := func(change object) object {
			a := requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, shells+"/s", change), 200)
			require.JSONEq(t, string(a.body), string(p.get(shells+"/s").body))
			return a.object(t)
		}
		asset := object{"assetKind": "Type", "specificAssetIds": []any{object{"name": "n", "value": "v"}}}
		now := put(object{"idShort": "New", "assetInformation": asset})
		body["modelType"], body["idShort"], body["assetInformation"] = "AssetAdministrationShell", "New", asset
		require.JSONEq(t, jsonText(t, body), jsonText(t, now))

		now = put(object{"idShort": "New", "assetInformation": asset, "submodels": references("c")})
		require.Equal(t, references("c"), now["submodels"])
		now = put(object{"id": "s", "idShort": "New", "assetInformation": asset, "submodels": []any{}, "administration": object{"version": "2"}})
		require.Empty(t, now["submodels"])
		require.Equal(t, object{"version": "2"}, now["administration"])
		require.Equal(t, body["description"], now["description"])

		requireAASError(t, p.call(accounts.Admin, http.MethodPut, shells+"/s", object{"id": "other", "idShort": "New", "assetInformation": asset}), 400, "INVALID_REQUEST")
		for _, bad := range []any{object{"idShort": "x"}, object{"assetInformation": asset}, object{"idShort": "x", "assetInformation": object{"assetKind": "Type"}},
			object{"idShort": "x", "assetInformation": asset, "submodels": "none"}, "{}", "null", "[]"} {
			requireAASError(t, p.callWrong(accounts.Admin, http.MethodPut, shells+"/s", bad), 400, "INVALID_REQUEST")
		}
		require.Equal(t, "New", p.get(shells + "/s").object(t)["idShort"])
	})
}

func TestAShellThatBreaksARuleIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	p := start(t)
	asset := object{"assetKind": "Instance", "globalAssetId": "a"}
	for name, c := range map[string]struct {
		body any
		want string
	}{
		"no id":             {object{"idShort": "x", "assetInformation": asset}, "id"},
		"no idShort":        {object{"id": "x", "assetInformation": asset}, "idShort"},
		"no asset":          {object{"id": "x", "idShort": "x"}, "assetInformation"},
		"no kind":           {object{"id": "x", "idShort": "x", "assetInformation": object{"globalAssetId": "a"}}, "assetKind"},
		"no asset id":       {object{"id": "x", "idShort": "x", "assetInformation": object{"assetKind": "Type"}}, "AASd-131"},
		"kind of no kind":   {object{"id": "x", "idShort": "x", "assetInformation": object{"assetKind": "Thing", "globalAssetId": "a"}}, "assetInformation.assetKind"},
		"kind is a number":  {object{"id": "x", "idShort": "x", "assetInformation": object{"assetKind": 1, "globalAssetId": "a"}}, "assetInformation.assetKind"},
		"id is a number":    {object{"id": 1, "idShort": "x", "assetInformation": asset}, "id"},
		"idShort with dots": {object{"id": "x", "idShort": "a.b", "assetInformation": asset}, "AASd-002"},
		"wrong modelType":   {object{"modelType": "Submodel", "id": "x", "idShort": "x", "assetInformation": asset}, "modelType"},
		"reference is bare": {object{"id": "x", "idShort": "x", "assetInformation": asset, "submodels": []any{"y"}}, "submodels[0]"},
		"member twice":      {`{"id":"x","id":"y","idShort":"x","assetInformation":{"assetKind":"Type","globalAssetId":"a"}}`, "id"},
		"a dot":             {object{"id": ".", "idShort": "x", "assetInformation": asset}, "id"},
		"two dots":          {object{"id": "..", "idShort": "x", "assetInformation": asset}, "id"},
		"control character": {object{"id": "a\nb", "idShort": "x", "assetInformation": asset}, "id"},
		"long id":           {object{"id": strings.Repeat("ü", 2049), "idShort": "x", "assetInformation": asset}, "id"},
		"no object":         {"[]", ""},
		"no JSON":           {"{", ""},
		"two documents":     {jsonText(t, shellBody("x", "x")) + "{}", ""},
		"nothing":           {"null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			message := requireAASError(t, p.callWrong(accounts.Admin, http.MethodPost, shells, c.body), 400, "INVALID_REQUEST")
			require.Contains(t, message, c.want)
		})
	}
	require.Empty(t, idsIn(t, p.get(shells)))

	// Every kind of asset of the metamodel may be written, and unknown members are no error.
	for _, kind := range []string{"Instance", "Type", "Role", "NotApplicable"} {
		p.create(shells, object{"id": kind, "idShort": kind, "unknown": true, "assetInformation": object{"assetKind": kind, "globalAssetId": "a"}})
	}
	require.Equal(t, []string{"Instance", "NotApplicable", "Role", "Type"}, idsIn(t, p.get(shells)))
	require.Len(t, idsIn(t, p.get(registry+"/by-asset/a")), 4)
}

func TestTheAASFamilyAnswersEveryFailureInItsForm(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxBodyBytes = 4096 })
	for _, path := range []string{shells, submodels, concepts} {
		requireAASError(t, p.callWrong(accounts.Viewer, http.MethodGet, path+"/a/b", nil), 404, "NOT_FOUND")
		a := p.callWrong(accounts.Viewer, http.MethodPatch, path, nil)
		requireAASError(t, a, 405, "METHOD_NOT_ALLOWED")
		require.Equal(t, "GET, HEAD, OPTIONS, POST", a.header.Get("Allow"))
		requireStatusCode(t, p.callWrong(accounts.Viewer, http.MethodOptions, path, nil), 204)
		large := shellBody("x", "x")
		large["category"] = strings.Repeat("x", 5000)
		requireAASError(t, p.callWrong(accounts.Admin, http.MethodPost, path, large), 413, "BODY_TOO_LARGE")
		r := p.request(wrong(t.Context()), accounts.Admin, http.MethodPost, path, "<xml/>")
		r.Header.Set("Content-Type", "application/xml")
		requireAASError(t, p.do(r), 415, "UNSUPPORTED_MEDIA_TYPE")
		requireAASError(t, p.callWrong(accounts.Admin, http.MethodPost, path, nil), 400, "INVALID_REQUEST")
		requireAASError(t, p.call(nobody, http.MethodGet, path, nil), 401, "UNAUTHORIZED")
	}
}

// deadStore is a store whose database is gone.
type deadStore struct{ repository.Store }

func (deadStore) Get(context.Context, repository.Kind, ...string) ([]repository.Document, error) {
	return nil, context.DeadlineExceeded
}

func (deadStore) Find(context.Context, repository.Query) (repository.Page, error) {
	return repository.Page{}, errDisk
}

var errDisk = errors.New("secret disk name")

func TestAFailureOfTheStoreIsToldWithoutItsText(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.AAS.Store = deadStore{} })
	for _, path := range []string{shells, submodels, concepts, registry + "/search", registry + "/by-asset/x"} {
		a := p.get(path)
		require.NotContains(t, requireAASError(t, a, 500, "INTERNAL_ERROR"), "secret")
		require.Len(t, a.object(t)["traceId"], 32)
	}
}

func TestPagesOfShells(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		var all []string
		for i := range 25 {
			body := shellBody("s"+strconv.Itoa(100+i), "S"+strconv.Itoa(i))
			if i%5 == 0 {
				body["assetInformation"].(object)["assetKind"] = "Type"
			}
			p.create(shells, body)
			all = append(all, body["id"].(string))
		}
		for query, want := range map[string][]string{
			"": all[:20], "?page=2": all[20:], "?page=3": {}, "?pageSize=100": all, "?pageSize=10&page=2": all[10:20],
			"?page=&pageSize=&assetKind=": all[:20], "?page=9223372036854775807": {}, "?page=9223372036854775807&pageSize=100": {},
			"?assetKind=Type": {all[0], all[5], all[10], all[15], all[20]}, "?assetKind=Type&pageSize=2&page=3": {all[20]},
		} {
			a := p.callWrong(accounts.Viewer, http.MethodGet, shells+query, nil) // the document knows no empty assetKind
			require.Equal(t, want, idsIn(t, a), query)
			total := 25
			if strings.Contains(query, "Type") {
				total = 5
			}
			require.Equal(t, json.Number(strconv.Itoa(total)), a.object(t)["totalCount"], query)
		}
		a := p.get(shells + "?pageSize=10&page=2").object(t)
		require.Equal(t, json.Number("2"), a["page"])
		require.Equal(t, json.Number("10"), a["pageSize"])
		for _, path := range []string{shells, submodels, concepts} {
			for _, query := range []string{"page=0", "page=-1", "pageSize=0", "pageSize=101", "pageSize=-1", "page=x", "pageSize=1.5", "page=1&page=2", "page=9223372036854775808"} {
				requireAASError(t, p.callWrong(accounts.Viewer, http.MethodGet, path+"?"+query, nil), 400, "INVALID_REQUEST")
			}
		}
		for _, path := range []string{shells + "?", registry + "/search?"} {
			for _, kind := range []string{"Role", "NotApplicable", "instance", "x"} {
				require.Contains(t, requireAASError(t, p.callWrong(accounts.Viewer, http.MethodGet, path+"assetKind="+kind, nil), 400, "INVALID_REQUEST"), "assetKind")
			}
		}
	})
}

func TestSearchingTheRegistry(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(submodels, submodelBody("m1", "Nameplate"))
		p.create(submodels, object{"id": "m2", "idShort": "Other", "semanticId": object{"type": "ExternalReference",
			"keys": []any{object{"type": "GlobalReference", "value": "https://admin-shell.io/idta/TechnicalData/1/2"}}}})
		p.create(shells, shellBody("1", "Pump_A", "m1"))
		p.create(shells, shellBody("2", "pump_b", "m2", "m1"))
		motor := shellBody("3", "Motor", "gone")
		motor["assetInformation"].(object)["assetKind"] = "Type"
		p.create(shells, motor)
		for query, want := range map[string][]string{
			"": {"1", "2", "3"}, "idShort=PUMP": {"1", "2"}, "idShort=_": {"1", "2"}, "idShort=%25": {}, "idShort=": {"1", "2", "3"},
			"submodelType=nameplate": {"1", "2"}, "submodelType=TechnicalData": {"2"}, "submodelType=Other": {"2"}, "submodelType=2": {},
			"assetKind=Type": {"3"}, "assetKind=Instance&idShort=b&submodelType=Nameplate": {"2"}, "idShort=zzz": {}, "idShort=%FF": {},
		} {
			a := p.get(registry + "/search?" + query)
			require.Equal(t, want, idsIn(t, a), query)
			require.Equal(t, json.Number(strconv.Itoa(len(want))), a.object(t)["totalCount"], query)
		}
		a := p.get(registry + "/search?maxResults=1")
		require.Equal(t, []string{"1"}, idsIn(t, a))
		require.Equal(t, json.Number("3"), a.object(t)["totalCount"])
		for _, most := range []string{"0", "101", "-1", "x"} {
			requireAASError(t, p.callWrong(accounts.Viewer, http.MethodGet, registry+"/search?maxResults="+most, nil), 400, "INVALID_REQUEST")
		}
		same(t, object{"items": []any{}}, p.get(registry+"/by-asset/urn:nothing").body)
		require.Equal(t, []string{"3"}, idsIn(t, p.get(registry+"/by-asset/urn:asset:3")))
	})
}

package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
)

// network provides a submodel in a form of its own for one shell.
type network struct{}

const networkItem = `{"submodelType":"NetworkCompliance","semanticId":"https://example.com/idta/SM/NetworkCompliance/1/0","elements":[{"idShort":"OverallLevel","value":"High"}]}`

func (network) Submodels(_ context.Context, s *aas.Shell) ([]repository.ProvidedSubmodel, error) {
	if s.ID != "s" {
		return nil, nil
	}
	return []repository.ProvidedSubmodel{{JSON: []byte(networkItem)}}, nil
}

func TestTheSubmodelsOfAShell(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(submodels, submodelBody("m1", "One", property("x", "xs:int", "1")))
		p.create(submodels, submodelBody("m2", "Two"))
		p.create(shells, shellBody("s", "S", "m2", "gone", "m1", "m2"))
		p.create(shells, shellBody("empty", "E"))
		items := requireStatusCode(t, p.get(shells+"/s/submodels"), 200).object(t)["items"].([]any)
		require.Len(t, items, 3)
		require.JSONEq(t, string(p.get(submodels+"/m2").body), jsonText(t, items[0]))
		require.JSONEq(t, string(p.get(submodels+"/m1").body), jsonText(t, items[1]))
		require.JSONEq(t, networkItem, jsonText(t, items[2]))
		same(t, object{"items": []any{}}, p.get(shells+"/empty/submodels").body)

		// A shell that is removed leaves its submodels.
		requireStatusCode(t, p.call(accounts.Admin, http.MethodDelete, shells+"/s", nil), 204)
		require.Equal(t, []string{"m1", "m2"}, idsIn(t, p.get(submodels)))
	}, func(o *engine.Options) { o.AAS.Service.Providers = []repository.SubmodelProvider{network{}} })
}

func TestASubmodelLivesOverREST(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		body := submodelBody("m", "Data", property("speed", "xs:float", "21.5"),
			object{"modelType": "SubmodelElementCollection", "idShort": "motor", "value": []any{property("name", "xs:string", "ü \"<b>")}},
			object{"modelType": "SubmodelElementList", "idShort": "points", "typeValueListElement": "Property", "valueTypeListElement": "xs:int",
				"value": []any{object{"modelType": "Property", "valueType": "xs:int", "value": "1"}}})
		a := p.create(submodels, body)
		require.Equal(t, submodels+"/m", a.header.Get("Location"))
		require.Equal(t, `"1"`, a.header.Get("ETag"))
		body["modelType"] = "Submodel"
		same(t, body, a.body)
		same(t, body, p.get(submodels+"/m").body)
		item := submodelBody("m", "Data", body["submodelElements"].([]any)...)
		same(t, object{"items": []any{item}, "totalCount": 1, "page": 1, "pageSize": 20}, p.get(submodels).body)
		requireAASError(t, p.call(accounts.Admin, http.MethodPost, submodels, body), 409, "SUBMODEL_ALREADY_EXISTS")

		// What a replacement leaves out is gone.
		a = requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m", object{"idShort": "Less"}), 200)
		same(t, object{"modelType": "Submodel", "id": "m", "idShort": "Less"}, a.body)
		require.Equal(t, `"2"`, a.header.Get("ETag"))
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m", object{"id": "n"}), 400, "INVALID_REQUEST")
		requireStatusCode(t, p.call(accounts.Admin, http.MethodDelete, submodels+"/m", nil), 204)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			requireAASError(t, p.call(accounts.Admin, method, submodels+"/m", nil), 404, "SUBMODEL_NOT_FOUND")
		}
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m", body), 404, "SUBMODEL_NOT_FOUND")

		for want, elements := range map[string][]any{
			"submodelElements[1]":                    {property("a", "xs:int", "1"), property("a", "xs:int", "2")},
			"submodelElements[0].value[0].valueType": {object{"modelType": "SubmodelElementCollection", "idShort": "c", "value": []any{property("a", "xs:nothing", "1")}}},
			"submodelElements[0].value":              {property("a", "xs:int", "one")},
			"submodelElements[0].modelType":          {object{"idShort": "a"}},
		} {
			require.Contains(t, requireAASError(t, p.callWrong(accounts.Admin, http.MethodPost, submodels, submodelBody("bad", "Bad", elements...)), 400, "INVALID_REQUEST"), want)
		}
	})
}

func TestABlobThatWasNotSentIsKeptOverREST(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		blob := func(value any) object {
			b := object{"modelType": "Blob", "idShort": "b", "contentType": "text/plain", "value": value}
			if value == false {
				delete(b, "value")
			}
			return submodelBody("m", "Data", object{"modelType": "SubmodelElementCollection", "idShort": "c", "value": []any{b}})
		}
		p.create(submodels, blob("AAEC"))
		kept := blob("AAEC")
		kept["modelType"] = "Submodel"
		same(t, kept, requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m", blob(false)), 200).body)
		same(t, kept, p.get(submodels+"/m").body)
		requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m/submodel-elements/c.b/value", `{"contentType":"text/plain"}`), 204)
		same(t, kept, p.get(submodels+"/m").body)

		requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, submodels+"/m", blob(nil)), 200)
		none := blob(false)
		none["modelType"] = "Submodel"
		same(t, none, p.get(submodels+"/m").body)
	})
}

func TestValuesOfElements(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		p.create(submodels, submodelBody("m", "Data", property("speed", "xs:double", "21.5"), property("on", "xs:boolean", "true"),
			object{"modelType": "SubmodelElementCollection", "idShort": "motor", "value": []any{property("name", "xs:string", "old"), property("rpm", "xs:int", "5")}},
			object{"modelType": "SubmodelElementList", "idShort": "points", "typeValueListElement": "Property", "valueTypeListElement": "xs:int",
				"value": []any{object{"modelType": "Property", "valueType": "xs:int", "value": "1"}}}))
		at := func(path string) string { return submodels + "/m/submodel-elements/" + pathOf(path) + "/value" }
		set := func(path, value string) answer {
			return p.call(accounts.Admin, http.MethodPut, at(path), value)
		}
		for path, want := range map[string]string{"speed": "21.5", "on": "true", "motor": `{"name":"old","rpm":5}`, "motor.name": `"old"`, "points": "[1]", "points[0]": "1"} {
			a := requireStatusCode(t, p.get(at(path)), 200)
			require.JSONEq(t, want, string(a.body), path)
			require.Equal(t, `"1"`, a.header.Get("ETag"))
		}
		for path, value := range map[string]string{"speed": "-1.25e3", "on": "false", "motor.name": `"häßlich \"<b>\""`, "motor": `{"rpm":7}`, "points[0]": "-3"} {
			a := requireStatusCode(t, set(path, value), 204)
			require.Empty(t, a.body)
			require.NotEmpty(t, a.header.Get("ETag"))
		}
		require.JSONEq(t, "-1250", string(p.get(at("speed")).body))
		require.JSONEq(t, `{"name":"häßlich \"<b>\"","rpm":7}`, string(p.get(at("motor")).body))
		require.JSONEq(t, "[-3]", string(p.get(at("points")).body))

		for _, path := range []string{"absent", "motor.absent", "points[1]", "points[-1]", "speed.x", "a..b", "[", "%", "points[99999999999999999999]"} {
			requireAASError(t, p.get(at(path)), 404, "SUBMODEL_ELEMENT_NOT_FOUND")
			requireAASError(t, set(path, "1"), 404, "SUBMODEL_ELEMENT_NOT_FOUND")
		}
		requireAASError(t, p.get(submodels+"/absent/submodel-elements/x/value"), 404, "SUBMODEL_NOT_FOUND")
		for path, value := range map[string]string{"speed": `"fast"`, "motor.rpm": "1.5", "on": `"yes"`, "motor": "[]", "points[0]": "{}"} {
			requireAASError(t, set(path, value), 400, "INVALID_REQUEST")
		}
		require.JSONEq(t, "-1250", string(p.get(at("speed")).body))
	})
}

func TestAConceptDescriptionLivesOverREST(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		const id = "0173-1#02-AAO677#002"
		names := []any{object{"language": "en", "text": "Temperature"}}
		short := object{"id": id, "idShort": "Temperature", "embeddedDataSpecifications": []any{
			object{"dataSpecificationContent": object{"preferredName": names, "unit": "°C", "valueFormat": "NR2"}}}}
		a := p.create(concepts, short)
		require.Equal(t, concepts+"/0173-1%2302-AAO677%23002", a.header.Get("Location"))
		whole := a.object(t)
		require.Equal(t, "ConceptDescription", whole["modelType"])
		spec := whole["embeddedDataSpecifications"].([]any)[0].(object)
		require.Equal(t, object{"modelType": "DataSpecificationIec61360", "preferredName": names, "unit": "°C", "valueFormat": "NR2"}, spec["dataSpecificationContent"])
		require.Equal(t, "ExternalReference", spec["dataSpecification"].(object)["type"])

		one := requireStatusCode(t, p.get(a.header.Get("Location")), 200)
		require.JSONEq(t, string(a.body), string(one.body))
		requireAASError(t, p.call(accounts.Admin, http.MethodPost, concepts, short), 409, "CONCEPT_DESCRIPTION_ALREADY_EXISTS")
		delete(whole, "modelType")
		same(t, object{"items": []any{whole}, "totalCount": 1}, p.get(concepts).body)
		same(t, object{"items": []any{whole}, "totalCount": 1}, p.get(concepts+"?idShort=PERA&pageSize=100").body)
		same(t, object{"items": []any{}, "totalCount": 0}, p.get(concepts+"?idShort=x").body)

		at := concepts + "/" + pathOf(id)
		a = requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, at, object{"idShort": "T2"}), 200)
		same(t, object{"modelType": "ConceptDescription", "id": id, "idShort": "T2"}, a.body)
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, at, object{"id": "other"}), 400, "INVALID_REQUEST")
		requireAASError(t, p.callWrong(accounts.Admin, http.MethodPost, concepts, object{"idShort": "x"}), 400, "INVALID_REQUEST")
		requireStatusCode(t, p.call(accounts.Admin, http.MethodDelete, at, nil), 204)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			requireAASError(t, p.call(accounts.Admin, method, at, nil), 404, "CONCEPT_DESCRIPTION_NOT_FOUND")
		}
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, at, short), 404, "CONCEPT_DESCRIPTION_NOT_FOUND")
	})
}

// engineValues are live values from the tags of a platform.
type engineValues struct{ engine func() *tags.Engine }

func (v engineValues) Values(_ context.Context, names []string) ([]repository.LiveValue, error) {
	out := make([]repository.LiveValue, len(names))
	for i, name := range names {
		if s, err := v.engine().Read(name); err == nil && s.Sample.Quality == tags.Good {
			out[i] = repository.LiveValue{Value: s.Sample.Value.String(), Known: true}
		}
	}
	return out, nil
}

func (v engineValues) Write(ctx context.Context, name, value string) error {
	_, err := v.engine().Write(ctx, tags.WriteRequest{Tag: name, Text: value})
	return err
}

func TestALiveElementShowsAndWritesItsTag(t *testing.T) {
	t.Parallel()
	var p *platform
	p = start(t, func(o *engine.Options) { o.AAS.Service.Values = engineValues{func() *tags.Engine { return p.Tags() }} })
	live := func(idShort, valueType, tag string) object {
		e := property(idShort, valueType, "0")
		e["qualifiers"] = []any{object{"type": repository.LiveQualifier, "valueType": "xs:string", "value": tag}}
		return e
	}
	a := p.create(submodels, submodelBody("m", "M", live("level", "xs:double", "line.level"), live("count", "xs:long", "line.count"),
		live("fixed", "xs:double", "line.fixed"), live("gone", "xs:double", "line.gone"), live("valve", "xs:boolean", "away.valve")))
	value := func(a answer, i int) any { return a.object(t)["submodelElements"].([]any)[i].(object)["value"] }
	require.Equal(t, "21.5", value(a, 0))
	require.Equal(t, "21.5", value(p.get(submodels+"/m"), 0))
	require.Equal(t, "9223372036854775806", value(p.get(submodels+"/m"), 1))
	list := p.get(submodels).object(t)["items"].([]any)[0].(object)["submodelElements"].([]any)
	require.Equal(t, "21.5", list[0].(object)["value"])
	at := func(name string) string { return submodels + "/m/submodel-elements/" + name + "/value" }
	require.Equal(t, "21.5", string(p.get(at("level")).body))

	requireStatusCode(t, p.call(accounts.Admin, http.MethodPut, at("level"), "33.5"), 204)
	require.Eventually(t, func() bool { return string(p.get(at("level")).body) == "33.5" }, time.Minute, time.Millisecond)
	require.Equal(t, `"1"`, p.get(submodels+"/m").header.Get("ETag"), "a live value is no change of the document")
	for name, want := range map[string]struct {
		status int
		code   string
		value  string
	}{"fixed": {403, "READ_ONLY_TAG", "1"}, "gone": {404, "TAG_NOT_FOUND", "1"}, "valve": {503, "DRIVER_OFFLINE", "true"}, "level": {400, "INVALID_VALUE", "1000"}} {
		requireAASError(t, p.call(accounts.Admin, http.MethodPut, at(name), want.value), want.status, want.code)
	}
}

package aasapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/aasapi"
)

type descriptor struct {
	ID, IDShort string
	Endpoints   []struct {
		Interface           string
		ProtocolInformation struct{ Href, EndpointProtocol string }
	}
	SubmodelDescriptors []descriptor
}

func (r *rig) descriptors(path string) (list []descriptor, cursor string) {
	r.t.Helper()
	p := r.require(http.StatusOK, "GET", path, noBody).page(r.t)
	for _, one := range p.Result {
		var d descriptor
		require.NoError(r.t, json.Unmarshal(one, &d))
		list = append(list, d)
	}
	return list, p.Paging.Cursor
}

const registeredEndpoint = `"endpoints":[{"interface":"AAS-3.0","protocolInformation":{"href":"https://elsewhere.example/x"}}]`

func TestTheRegistryListsWhatTheRepositoryHas(t *testing.T) {
	r := start(t, rigOptions{})
	list, _ := r.descriptors("/shell-descriptors")
	require.Len(t, list, 1)
	own := list[0]
	require.Equal(t, pumpID, own.ID)
	require.Equal(t, "Pump", own.IDShort)
	require.Len(t, own.SubmodelDescriptors, 1, "the other submodel is not there")
	require.Equal(t, dataID, own.SubmodelDescriptors[0].ID)
	hrefs := map[string]string{}
	for _, e := range own.Endpoints {
		hrefs[e.Interface] = e.ProtocolInformation.Href
		require.Equal(t, "HTTP", e.ProtocolInformation.EndpointProtocol)
	}
	require.Equal(t, map[string]string{"AAS-3.0": r.url + "/api/v3.0" + aPump, "AAS-3.1": r.url + "/api/v3.1" + aPump}, hrefs)
	// The address leads to what is described.
	resp, err := r.client.Get(hrefs["AAS-3.0"])
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)

	var one descriptor
	require.NoError(t, json.Unmarshal([]byte(r.require(200, "GET", "/shell-descriptors/"+b64(pumpID), noBody).body), &one))
	require.Equal(t, own, one)
	nested, _ := r.descriptors("/shell-descriptors/" + b64(pumpID) + "/submodel-descriptors")
	require.Equal(t, own.SubmodelDescriptors, nested)
	list, _ = r.descriptors("/submodel-descriptors")
	require.Equal(t, own.SubmodelDescriptors, list)
	require.Equal(t, "SUBMODEL-3.0", list[0].Endpoints[0].Interface)
	require.NoError(t, json.Unmarshal([]byte(r.require(200, "GET", "/submodel-descriptors/"+b64(dataID), noBody).body), &one))
	require.Equal(t, list[0].Endpoints, one.Endpoints)
	for _, filter := range []string{"?assetKind=Instance", "?assetType=" + b64("urn:type:pump")} {
		list, _ = r.descriptors("/shell-descriptors" + filter)
		require.Len(t, list, 1)
	}
	list, _ = r.descriptors("/shell-descriptors?assetKind=Type")
	require.Empty(t, list)

	// A registered one wins, also where a filter does not select it, until it is removed.
	r.require(201, "POST", "/shell-descriptors", `{"id":"`+pumpID+`","idShort":"Registered","assetKind":"Type",`+registeredEndpoint+`}`)
	list, _ = r.descriptors("/shell-descriptors")
	require.Len(t, list, 1)
	require.Equal(t, "Registered", list[0].IDShort)
	require.Equal(t, "https://elsewhere.example/x", list[0].Endpoints[0].ProtocolInformation.Href)
	list, _ = r.descriptors("/shell-descriptors?assetKind=Instance")
	require.Empty(t, list)
	require.Contains(t, r.require(200, "GET", "/shell-descriptors/"+b64(pumpID), noBody).body, "elsewhere")
	r.require(204, "DELETE", "/shell-descriptors/"+b64(pumpID), noBody)
	r.require(404, "DELETE", "/shell-descriptors/"+b64(pumpID), noBody)
	list, _ = r.descriptors("/shell-descriptors")
	require.Equal(t, []descriptor{own}, list)
}

func TestPagesOfTheRegistryLoseNothing(t *testing.T) {
	r := start(t, rigOptions{})
	want := []string{pumpID}
	for i := range 20 {
		id := fmt.Sprintf("urn:d:%02d", i)
		want = append(want, id)
		if i%3 != 0 {
			r.require(201, "POST", "/shell-descriptors", `{"id":"`+id+`",`+registeredEndpoint+`}`)
		}
		if i%3 != 1 {
			r.require(201, "POST", "/shells", fmt.Sprintf(`{"modelType":"AssetAdministrationShell","id":"%s","idShort":"S%d","assetInformation":{"assetKind":"Instance","globalAssetId":"a"}}`, id, i))
		}
	}
	for _, limit := range []int{1, 2, 3, 7, 100} {
		var got []string
		for cursor := "first"; cursor != ""; {
			path := fmt.Sprintf("/shell-descriptors?limit=%d", limit)
			if cursor != "first" {
				path += "&cursor=" + cursor
			}
			var page []descriptor
			page, cursor = r.descriptors(path)
			require.LessOrEqual(t, len(page), limit)
			for _, d := range page {
				got = append(got, d.ID)
			}
		}
		require.Equal(t, want, got, "limit %d", limit)
	}
}

func TestAddressesInTheRegistryAreSettable(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{BaseURL: "https://plant.example.com/"}})
	list, _ := r.descriptors("/submodel-descriptors")
	require.Equal(t, "https://plant.example.com/api/v3.0"+aData, list[0].Endpoints[0].ProtocolInformation.Href)
	require.Equal(t, "HTTPS", list[0].Endpoints[0].ProtocolInformation.EndpointProtocol)

	r = start(t, rigOptions{api: aasapi.Options{NoOwnDescriptors: true}})
	list, _ = r.descriptors("/submodel-descriptors")
	require.Empty(t, list)
	r.require(404, "GET", "/submodel-descriptors/"+b64(dataID), noBody)
	r.require(404, "GET", "/shell-descriptors/"+b64(pumpID)+"/submodel-descriptors", noBody)
	_, err := aasapi.New(r.service, aasapi.Options{BaseURL: "plant"})
	require.ErrorContains(t, err, "BaseURL")
}

func TestTheAPIAtTheRoot(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{AtRoot: true}})
	for _, path := range []string{"/shells", aPump, "/submodels", aData, "/concept-descriptions", "/lookup/shells", "/description", "/submodel-descriptors", "/packages"} {
		a, b := r.sendTo("GET", path, noBody), r.send("GET", path, noBody)
		require.Equal(t, 200, a.status, path)
		if path != "/submodel-descriptors" {
			require.Equal(t, b.body, a.body)
		}
	}
	a := r.sendTo("POST", "/submodels", `{"modelType":"Submodel","id":"urn:new","idShort":"N"}`)
	require.Equal(t, 201, a.status)
	require.Equal(t, "/submodels/"+b64("urn:new"), a.header.Get("Location"))
	require.Contains(t, r.sendTo("GET", "/submodel-descriptors", noBody).body, `"href":"`+r.url+aData+`"`)
	require.Contains(t, aasapi.RootPaths(true), "/shells")

	r = start(t, rigOptions{})
	for _, path := range []string{"/shells", "/description"} {
		require.Equal(t, 404, r.sendTo("GET", path, noBody).status)
	}
	require.Equal(t, []string{"/upload"}, aasapi.RootPaths(false))
}

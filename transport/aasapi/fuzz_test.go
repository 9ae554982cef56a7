package aasapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

// FuzzRequests sends anything as the parts of a request: no answer is a 500, and every refusal is a Result.
func FuzzRequests(f *testing.F) {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(f, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(f, err)
	for path, body := range map[string]string{"/shells": pump, "/submodels": everything} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest("POST", v31+path, strings.NewReader(body)))
		require.Equal(f, http.StatusCreated, w.Code)
	}
	f.Add(uint8(0), "speed", "limit=1", "")
	f.Add(uint8(1), "group.rows[1].cell", "cursor=abcd", "12")
	f.Add(uint8(2), "double", "level=core&extent=withBlobValue", fullRequest)
	f.Add(uint8(3), "series[0]", "assetIds="+b64(`{"name":"a","value":"b"}`), `{"modelType":"Property"}`)
	f.Add(uint8(4), "a%2Fb", "semanticId="+b64(`{"type":"ExternalReference","keys":[]}`), `[{"name":"x","value":"y"}]`)
	f.Fuzz(func(t *testing.T, which uint8, element, query, body string) {
		element = url.PathEscape(element)
		targets := []struct{ method, path string }{
			{"GET", aData + "/submodel-elements/" + element + "/$value"}, {"PATCH", aData + "/submodel-elements/" + element + "/$value"},
			{"POST", aData + "/submodel-elements/" + element + "/invoke/$value"}, {"PUT", aPump + aData + "/submodel-elements/" + element},
			{"GET", "/shells"}, {"GET", "/submodels/$path"}, {"POST", "/lookup/shellsByAssetLink"}, {"GET", "/shells/" + element},
			{"GET", aData + "/submodel-elements"}, {"PATCH", aData + "/submodel-elements/" + element}, {"GET", "/serialization"},
		}
		target := targets[int(which)%len(targets)]
		req := httptest.NewRequest(target.method, v31+target.path, strings.NewReader(body))
		req.URL.RawQuery = query
		w := httptest.NewRecorder()
		api.ServeHTTP(w, req)
		require.NotEqual(t, http.StatusInternalServerError, w.Code, "%s %s?%s %s: %s", target.method, target.path, query, body, w.Body)
		if w.Code >= 400 {
			requireResult(t, answer{w.Code, w.Header(), w.Body.String()})
		}
	})
}

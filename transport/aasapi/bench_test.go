package aasapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

// quiet is a ResponseWriter that keeps nothing.
type quiet struct {
	header http.Header
	status int
}

func (q *quiet) Header() http.Header         { return q.header }
func (q *quiet) Write(p []byte) (int, error) { return len(p), nil }
func (q *quiet) WriteHeader(status int)      { q.status = status }

// BenchmarkRequests measures the handler alone over the store in memory, with 10,000 shells and a
// submodel of 50 properties.
func BenchmarkRequests(b *testing.B) {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	require.NoError(b, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(b, err)
	send := func(method, path, body string) int {
		q := &quiet{header: http.Header{}}
		api.ServeHTTP(q, httptest.NewRequest(method, v31+path, strings.NewReader(body)))
		return q.status
	}
	for i := range 10_000 {
		require.Equal(b, http.StatusCreated, send("POST", "/shells", strings.Replace(pump, pumpID, fmt.Sprintf("urn:shell:%05d", i), 1)))
	}
	var elements []string
	for i := range 50 {
		elements = append(elements, fmt.Sprintf(`{"modelType":"Property","idShort":"p%d","valueType":"xs:double","value":"%d","semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:concept:%d"}]}}`, i, i, i))
	}
	require.Equal(b, http.StatusCreated, send("POST", "/submodels", `{"modelType":"Submodel","id":"urn:fifty","idShort":"Fifty","submodelElements":[`+strings.Join(elements, ",")+`]}`))
	fifty := "/submodels/" + b64("urn:fifty")
	n := 0
	for _, bench := range []struct {
		name, method, path string
		body               func() string
	}{
		{"GetShell", "GET", "/shells/" + b64("urn:shell:05000"), nil},
		{"List100Shells", "GET", "/shells?limit=100", nil},
		{"GetSubmodel", "GET", fifty, nil},
		{"GetSubmodelValue", "GET", fifty + "/$value", nil},
		{"GetPropertyValue", "GET", fifty + "/submodel-elements/p20/$value", nil},
		{"PatchPropertyValue", "PATCH", fifty + "/submodel-elements/p20/$value", func() string { n++; return fmt.Sprint(n) }},
		{"PostShell", "POST", "/shells", func() string {
			n++
			return strings.Replace(pump, pumpID, fmt.Sprintf("urn:new:%09d", n), 1)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body := ""
				if bench.body != nil {
					body = bench.body()
				}
				if status := send(bench.method, bench.path, body); status >= 300 {
					b.Fatal(status)
				}
			}
		})
	}
}

package openapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/otkit/otkit/openapi"
)

// A program that serves the API can serve its document too, for clients that are generated from it.
func Example() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openapi.Document)
	})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.yaml", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 application/yaml
}

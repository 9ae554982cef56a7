package discoveryapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridgeclient"
	"github.com/otkit/otkit/transport/discoveryapi"
)

func Example() {
	client, err := bridgeclient.New(bridgeclient.Options{})
	if err != nil {
		panic(err)
	}
	service, err := discovery.New(context.Background(), discovery.Deps{Store: discovery.NewMemory(), Bridges: client}, discovery.Options{EngineID: "engine-1"})
	if err != nil {
		panic(err)
	}
	api, err := discoveryapi.New(service, discoveryapi.Options{})
	if err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	api.Mount(r)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/discovery/bindings", nil))
	fmt.Print(w.Code, " ", w.Body)
	// Output: 200 []
}

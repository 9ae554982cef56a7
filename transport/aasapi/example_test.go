package aasapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

func Example() {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		panic(err)
	}
	api, err := aasapi.New(service, aasapi.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = api.Close(context.Background()) }()
	if _, err := service.Submodels.Create(context.Background(), &aas.Submodel{Identifiable: aas.Identifiable{ID: "urn:example:data"}}); err != nil {
		panic(err)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/api/v3.1/submodels", nil)) // a server would do this
	fmt.Println(w.Code, w.Body)
	// Output: 200 {"paging_metadata":{},"result":[{"modelType":"Submodel","id":"urn:example:data"}]}
}

package aasv1_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/aasv1"
)

// A program that has its own server mounts the API behind its own login.
func Example() {
	service, err := repository.New(repository.NewMemory(), repository.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	api, err := aasv1.New(service, aasv1.Options{})
	if err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	api.Mount(r)

	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/submodels", strings.NewReader(`{"id":"urn:example:data","idShort":"Data"}`)))
	fmt.Println(w.Code, w.Header().Get("Location"))
	// Output: 201 /api/v1/submodels/urn:example:data
}

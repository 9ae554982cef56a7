package auditapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/auditapi"
)

// A program that has its own server mounts the API behind its own login, for admins only.
func Example() {
	ctx := context.Background()
	log, err := audit.New(audit.NewMemory(), audit.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = log.Close(ctx) }()
	act := audit.Act{Actor: "ann", Via: "rest", Action: "setRecipe", Objects: []string{"mixer-1"}}
	if err := log.Do(ctx, act, func(context.Context) error { return nil }, nil); err != nil {
		panic(err)
	}
	api, err := auditapi.New(log, auditapi.Options{})
	if err != nil {
		panic(err)
	}
	router := chi.NewRouter()
	api.Mount(router)
	for _, path := range []string{"/api/v1/audit?object=mixer-1", "/api/v1/audit/verification?seq=1"} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 application/json
	// 400 application/problem+json
}

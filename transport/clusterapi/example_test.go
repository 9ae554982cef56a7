package clusterapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/clusterapi"
)

// plant has one engine, which nothing can be drained to.
type plant struct{}

func (plant) Report(context.Context) clusterapi.Report {
	return clusterapi.Report{Engines: []clusterapi.Engine{{Session: cluster.Session{Engine: "hall-1", Version: "1.0"}, Self: true}}}
}

func (plant) Drain(context.Context, string, bool) error { return cluster.ErrNoOtherEngine }

// A program that has its own server mounts the API behind its own login.
func Example() {
	api, err := clusterapi.New(plant{}, clusterapi.Options{})
	if err != nil {
		panic(err)
	}
	router := chi.NewRouter()
	api.Mount(router)
	for _, call := range [][2]string{{"GET", "/api/v1/engines/hall-1"}, {"PUT", "/api/v1/engines/hall-1/drain"}, {"GET", "/api/v1/engines/hall-2"}} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(call[0], call[1], nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 application/json
	// 409 application/problem+json
	// 404 application/problem+json
}

package predictiveapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/predictiveapi"
)

// A program that has its own server and its own idea of who may call mounts the API itself.
func Example() {
	records := new(predictive.MemoryRecords)
	var api *predictiveapi.API
	service, err := predictive.New(predictive.Deps{History: new(plant), Inventory: predictive.DriverInventory(inventory), Records: records,
		Registry: new(predictive.MemoryRegistry)}, predictive.Options{OnJob: func(j predictive.Job) { api.OnJob(j) }})
	if err != nil {
		panic(err)
	}
	defer func() { _ = service.Close(context.Background()) }()
	if api, err = predictiveapi.New(service, records, predictiveapi.Options{}); err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	r.Use(middleware.EscapedPath)
	api.Mount(r)
	defer api.EndStreams()
	for _, path := range []string{"/equipments", "/metrics/RUL"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1.0/predictive-maintenance"+path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 application/json
	// 404 application/problem+json
}

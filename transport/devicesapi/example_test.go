package devicesapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/transport/devicesapi"
	"github.com/otkit/otkit/transport/middleware"
)

// A program that has its own server and its own idea of who may call mounts the API itself.
func Example() {
	ctx := context.Background()
	policies, err := safety.New(safety.Options{})
	if err != nil {
		panic(err)
	}
	plant, err := devices.New(ctx, devices.NewMemory(), devices.Options{Safety: policies})
	if err != nil {
		panic(err)
	}
	defer func() { _ = plant.Close(ctx) }()
	if _, err := plant.Create(ctx, "agv-1", "Tugger", ""); err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	r.Use(middleware.EscapedPath)
	api, err := devicesapi.New(plant, devicesapi.Options{Caller: func(context.Context) string { return "somebody" }})
	if err != nil {
		panic(err)
	}
	api.Mount(r)
	for _, path := range []string{"/api/v1/devices/agv-1", "/api/v1/devices/agv-2"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 application/json
	// 404 application/problem+json
}

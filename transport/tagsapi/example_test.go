package tagsapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/tagsapi"
)

// A program that has its own server and its own idea of who may call mounts the API itself.
func Example() {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close(context.Background()) }()
	if err := engine.DefineTags(tags.Tag{Name: "tank.level", Driver: "tank", DataType: tags.Float}); err != nil {
		fmt.Println(err)
		return
	}
	r := chi.NewRouter()
	r.Use(middleware.EscapedPath)
	api, err := tagsapi.New(engine, tagsapi.Options{Caller: func(context.Context) string { return "somebody" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	api.Mount(r)
	for _, path := range []string{"/api/v1/tags/tank.level", "/api/v1/tags/tank.flow"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 200 application/json
	// 404 application/problem+json
}

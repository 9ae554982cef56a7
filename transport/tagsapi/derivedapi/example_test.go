package derivedapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagtemplate"
	"github.com/otkit/otkit/transport/tagsapi/derivedapi"
)

func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	if err := engine.DefineTags(tags.Tag{Name: "line1.flow", Driver: "line1", DataType: tags.Float}); err != nil {
		panic(err)
	}
	service, err := derived.New(ctx, engine, derived.Options{})
	if err != nil {
		panic(err)
	}
	defer service.Close()
	templates, err := tagtemplate.New(ctx, service, tagtemplate.Options{})
	if err != nil {
		panic(err)
	}
	api, err := derivedapi.New(service, templates, derivedapi.Options{})
	if err != nil {
		panic(err)
	}
	routes := chi.NewRouter()
	api.Mount(routes)

	answer := httptest.NewRecorder()
	body := strings.NewReader(`{"id": "line1.hourly", "expression": "tag(\"line1.flow\") * 60", "unit": "l/h"}`)
	routes.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/api/v1/derived-tags", body))
	fmt.Println(answer.Code, answer.Header().Get("Location"), answer.Header().Get("ETag"))
	// Output: 201 /api/v1/derived-tags/line1.hourly "1"
}

package driversapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/tagsapi/driversapi"
)

// engineHost is the least that the service needs of an engine.
type engineHost struct{ *tags.Engine }

func (h engineHost) StartDriver(id string, d tags.Driver, o tags.DriverOptions, known []tags.Tag) error {
	o.Tags = known
	return h.AddDriver(id, d, o)
}
func (h engineHost) StopDriver(ctx context.Context, id string) error { return h.RemoveDriver(ctx, id) }
func (h engineHost) DefineTags(_ string, known []tags.Tag) error {
	return h.Engine.DefineTags(known...)
}
func (h engineHost) ForgetTags(string)             {}
func (h engineHost) TagsOf(string, int) []tags.Tag { return nil }

// A program that has its own server mounts the API behind its own login.
func Example() {
	ctx := context.Background()
	engine, err := tags.New(tags.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = engine.Close(ctx) }()
	service, err := drivers.New(ctx, drivers.Deps{Types: driverconfig.Types{simdriver.Type()}, Host: engineHost{engine}}, drivers.Options{})
	if err != nil {
		panic(err)
	}
	api, err := driversapi.New(service, driversapi.Options{})
	if err != nil {
		panic(err)
	}
	r := chi.NewRouter()
	api.Mount(r)

	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/drivers", strings.NewReader(`{"id": "line1", "type": "Simulation"}`)))
	fmt.Println(w.Code, w.Header().Get("Location"), engine.HasDriver("line1"))
	w = httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("DELETE", "/api/v1/drivers/line1", nil))
	fmt.Println(w.Code, engine.HasDriver("line1"))
	// Output:
	// 201 /api/v1/drivers/line1 true
	// 204 false
}

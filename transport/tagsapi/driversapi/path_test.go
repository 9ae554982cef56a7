package driversapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/tagsapi/driversapi"
)

// A driver that can be created can be removed at the address that the answer gave.
func TestTheLocationOfADriverLeadsToIt(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	service, err := drivers.New(t.Context(), drivers.Deps{Types: driverconfig.Types{simdriver.Type()}, Host: engineHost{engine}}, drivers.Options{})
	require.NoError(t, err)
	api, err := driversapi.New(service, driversapi.Options{})
	require.NoError(t, err)
	r := chi.NewRouter()
	api.Mount(r)
	for _, id := range []string{"line1", "100%", "a%20b", "oven 2", "Öfen", "a?b#c"} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/drivers", strings.NewReader(`{"id": "`+id+`", "type": "Simulation", "enabled": false}`)))
		require.Equal(t, 201, w.Code, "%s %s", id, w.Body)
		at := w.Header().Get("Location")
		w = httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest("DELETE", at, nil))
		require.Equal(t, 204, w.Code, "%s %s", id, w.Body)
	}
}

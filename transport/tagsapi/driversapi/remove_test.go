package driversapi_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/tagsapi/driversapi"
)

// A removal whose second step fails says what is left, and is completed by the same call.
func TestARemovalThatEndsHalfWayIsRepeated(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	service, err := drivers.New(t.Context(), drivers.Deps{Types: driverconfig.Types{simdriver.Type()}, Host: engineHost{engine}}, drivers.Options{})
	require.NoError(t, err)
	left := map[string]int{"line1": 3}
	full := true
	api, err := driversapi.New(service, driversapi.Options{RemoveTags: func(_ context.Context, id string) (int, error) {
		if full {
			return 0, tagconfig.ErrFull.Wrap(errors.New("no space"))
		}
		n := left[id]
		left[id] = 0
		return n, nil
	}})
	require.NoError(t, err)
	r := chi.NewRouter()
	api.Mount(r)
	call := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	require.Equal(t, 201, call("POST", "/api/v1/drivers", `{"id": "line1", "type": "Simulation", "enabled": false}`).Code)
	failed := call("DELETE", "/api/v1/drivers/line1?tags=true", "")
	require.Equal(t, 503, failed.Code)
	require.Contains(t, failed.Body.String(), "the driver is removed, its configured tags are not")
	require.Equal(t, 404, call("GET", "/api/v1/drivers/line1", "").Code)
	full = false
	require.Equal(t, 204, call("DELETE", "/api/v1/drivers/line1?tags=true", "").Code)
	require.Zero(t, left["line1"])
	require.Equal(t, 404, call("DELETE", "/api/v1/drivers/line1?tags=true", "").Code)
}

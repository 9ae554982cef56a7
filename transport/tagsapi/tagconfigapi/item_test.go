package tagconfigapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
)

func TestIfMatch(t *testing.T) {
	store, err := tagconfig.Open(t.Context(), tagconfig.Options{Repository: tagconfig.NewMemory()})
	require.NoError(t, err)
	store.Seed("plc", tagconfig.FromTag(tags.Tag{Name: "known", Driver: "plc", DataType: tags.Float}))
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	require.NoError(t, err)
	router := chi.NewRouter()
	api.Mount(router)
	call := func(method, id, unit string, match ...string) (status int, etag string) {
		r := httptest.NewRequest(method, "/api/v1.0/config/tags/"+id, strings.NewReader(`{"driverId":"plc","dataType":"Float","unit":"`+unit+`"}`))
		for _, m := range match {
			r.Header.Add("If-Match", m)
		}
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		return w.Code, w.Header().Get("ETag")
	}
	status, _ := call("PUT", "a", "m", "*")
	require.Equal(t, 412, status, "there is none")
	status, first := call("PUT", "a", "m")
	require.Equal(t, 201, status)
	status, _ = call("PUT", "a", "mm", `"x", `+first)
	require.Equal(t, 200, status)
	for _, wrong := range [][]string{{first}, {"W/" + first}, {`"x"`, `"y"`}} {
		status, _ = call("PUT", "a", "km", wrong...)
		require.Equal(t, 412, status, "%s", wrong)
		status, _ = call("DELETE", "a", "", wrong...)
		require.Equal(t, 412, status, "%s", wrong)
	}
	status, now := call("GET", "a", "")
	require.Equal(t, 200, status)
	status, _ = call("DELETE", "a", "", now)
	require.Equal(t, 204, status)

	_, seeded := call("GET", "known", "")
	status, _ = call("PUT", "known", "m", seeded)
	require.Equal(t, 201, status, "what the driver knows has a version, too")
	status, _ = call("PUT", "known", "mm", seeded)
	require.Equal(t, 412, status)
}

// The ETag of an answer is of what its caller has put. With that of a faster caller, the next If-Match would overwrite what nobody has seen.
func TestPutAnswersWithWhatWasPut(t *testing.T) {
	store, err := tagconfig.Open(t.Context(), tagconfig.Options{Repository: tagconfig.NewMemory()})
	require.NoError(t, err)
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	require.NoError(t, err)
	router := chi.NewRouter()
	api.Mount(router)
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			for i := range 200 {
				unit := fmt.Sprintf("%d.%d", caller, i)
				w := httptest.NewRecorder()
				router.ServeHTTP(w, httptest.NewRequest("PUT", "/api/v1.0/config/tags/a", strings.NewReader(`{"driverId":"plc","dataType":"Float","unit":"`+unit+`"}`)))
				if !strings.Contains(w.Body.String(), `"`+unit+`"`) {
					t.Errorf("put %s, answered %s", unit, w.Body)
				}
			}
		})
	}
	wg.Wait()
}

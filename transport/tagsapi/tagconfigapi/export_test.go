package tagconfigapi_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
)

// An export that fails midway must not pass for a whole one.
func TestAnExportThatFailsIsCutOff(t *testing.T) {
	store, err := tagconfig.Open(t.Context(), tagconfig.Options{Path: filepath.Join(t.TempDir(), "model.json")})
	require.NoError(t, err)
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	require.NoError(t, err)
	routes := chi.NewRouter()
	api.Mount(routes)
	server := httptest.NewServer(routes)
	defer server.Close()
	get := func(path string) (string, error) {
		answer, err := http.Get(server.URL + "/api/v1.0/config/tags" + path)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, answer.Body.Close())
		return string(body), err
	}
	items := make([]tagconfig.Config, 2000)
	for i := range items {
		items[i] = tagconfig.Config{TagID: fmt.Sprintf("d.%04d", i), DriverID: "d", DataType: tags.Int}
	}
	store.Seed("d", items...)
	for _, path := range []string{"", "/export", "/export?format=json", "/export?format=xlsx"} {
		body, err := get(path)
		require.NoError(t, err, path)
		require.NotEmpty(t, body)
	}
	items[1900].Offset = tags.Ptr(math.NaN()) // JSON has no such number
	store.Seed("d", items...)
	for _, path := range []string{"", "/export?format=json"} {
		body, err := get(path)
		require.Error(t, err, path)
		require.Contains(t, body, "d.0000", "what was made until then was sent")
	}
}

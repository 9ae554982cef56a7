package tagconfigapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/tagsapi/tagconfigapi"
)

func importer(t *testing.T) (*tagconfig.Store, func(query, media, body string) (int, string)) {
	store, err := tagconfig.Open(t.Context(), tagconfig.Options{Path: filepath.Join(t.TempDir(), "model.json")})
	require.NoError(t, err)
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	require.NoError(t, err)
	routes := chi.NewRouter()
	api.Mount(routes)
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return store, func(query, media, body string) (int, string) {
		answer, err := http.Post(server.URL+"/api/v1.0/config/tags/import"+query, media, strings.NewReader(body))
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, string(text)
	}
}

// Items that an export had from the driver must not keep the tags from following the driver after they were imported.
func TestAnImportLeavesWhatTheDriverSays(t *testing.T) {
	store, load := importer(t)
	unit := func(s string) tagconfig.Config {
		return tagconfig.Config{TagID: "d.a", DriverID: "d", Address: "1", DataType: tags.Int, Unit: s}
	}
	store.Seed("d", unit("bar"), tagconfig.Config{TagID: "d.b", DriverID: "d", Address: "2", DataType: tags.Int})
	var sheet strings.Builder
	require.NoError(t, tagconfig.Export(&sheet, tagconfig.CSV, store.All()))
	status, answer := load("", "text/csv", strings.Replace(sheet.String(), "d.b,d,2,Int,", "d.b,d,2,Int,kW", 1)+"d.c,d,3,Int"+strings.Repeat(",", strings.Count(strings.SplitN(sheet.String(), "\n", 2)[0], ",")-3)+"\r\n")
	require.Equal(t, 200, status, answer)
	require.Contains(t, answer, `"unchanged":["d.a"]`)
	require.Contains(t, answer, `"added":[{"tagId":"d.c"`)
	var configured []string
	for c := range store.AllConfigured() {
		configured = append(configured, c.TagID)
	}
	require.Equal(t, []string{"d.b", "d.c"}, configured)

	store.Seed("d", unit("mbar"), tagconfig.Config{TagID: "d.b", DriverID: "d", Address: "2", DataType: tags.Int})
	all := slices.Collect(store.All())
	require.Equal(t, "mbar", all[0].Unit)
	require.Equal(t, "kW", all[1].Unit)

	// An item stays one, although it is what the driver says now.
	store.Seed("d", unit("mbar"), tagconfig.Config{TagID: "d.b", DriverID: "d", Address: "2", DataType: tags.Int, Unit: "kW"})
	status, answer = load("?mode=replace", "text/csv", "tagId,driverId,dataType,address,unit\nd.b,d,Int,2,kW\n")
	require.Equal(t, 200, status, answer)
	require.Contains(t, answer, `"removed":["d.c"]`)
	configured = nil
	for c := range store.AllConfigured() {
		configured = append(configured, c.TagID)
	}
	require.Equal(t, []string{"d.b"}, configured)
}

// The file of an import that nobody waits for lives no longer than its engine, and what a killed one has left goes when the next one starts.
func TestFilesOfImportsDoNotStay(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder)
	left := filepath.Join(folder, "otkit-import-1")
	require.NoError(t, os.WriteFile(left, []byte("tagId"), 0o600))
	other := filepath.Join(folder, "other-import-1")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	store, err := tagconfig.Open(t.Context(), tagconfig.Options{Path: filepath.Join(t.TempDir(), "model.json")})
	require.NoError(t, err)
	api, err := tagconfigapi.New(store, tagconfigapi.Options{})
	require.NoError(t, err)
	routes := chi.NewRouter()
	api.Mount(routes)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/api/v1.0/config/tags/import?async=true", strings.NewReader("tagId,driverId,dataType\nd.a,d,Int\n"))
	r.Header.Set("Content-Type", "text/csv")
	routes.ServeHTTP(w, r)
	require.Equal(t, 202, w.Code, w.Body)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		api.Run(ctx)
	}()
	require.Eventually(t, func() bool { return store.Len() == 1 }, time.Minute, time.Millisecond)
	cancel()
	<-ended
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{other}, names)
}

// A misspelt dryRun must not become an import.
func TestAnImportRefusesOtherParameters(t *testing.T) {
	store, load := importer(t)
	status, answer := load("?dryrun=true", "text/csv", "tagId,driverId,dataType\nd.a,d,Int\n")
	require.Equal(t, 400, status)
	require.Contains(t, answer, `"dryrun","message":"is not a parameter of an import`)
	require.Empty(t, slices.Collect(store.All()))
	status, answer = load("", "text/plain", "tagId,driverId,dataType\nd.a,d,Int\n")
	require.Equal(t, 415, status)
	require.Contains(t, answer, "the Content-Type must be text/csv, application/json or that of XLSX")
}

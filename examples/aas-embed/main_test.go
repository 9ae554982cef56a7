package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB, path string) *fileStore {
	t.Helper()
	s, err := openStore(path)
	require.NoError(t, err)
	return s
}

func TestItIsAStore(t *testing.T) {
	aastest.TestStore(t, func(t testing.TB) (_ repository.Store, another, reopen func() repository.Store) {
		path := filepath.Join(t.TempDir(), "shells.jsonl")
		s := open(t, path)
		t.Cleanup(func() { require.NoError(t, s.close()) })
		return s, nil, func() repository.Store { // another is nil: one process at a time
			require.NoError(t, s.close())
			s = open(t, path)
			return s
		}
	})
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shells.jsonl")
	store := open(t, path)
	call := func(method, path, body string) *httptest.ResponseRecorder {
		handler, err := newService(store)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		return w
	}
	const submodel = `{"modelType":"Submodel","id":"urn:example:data","idShort":"Data"}`
	require.Equal(t, http.StatusCreated, call("POST", "/api/v3.1/submodels", submodel).Code)
	require.NoError(t, store.close())

	journal, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = journal.WriteString(`{"Changes":[{"Docu`) // a crash in the middle of a write
	require.NoError(t, err)
	require.NoError(t, journal.Close())

	store = open(t, path)
	require.JSONEq(t, `{"paging_metadata":{},"result":[`+submodel+`]}`, call("GET", "/api/v3.1/submodels", "").Body.String())
	require.Equal(t, http.StatusNoContent, call("DELETE", "/api/v3.1/submodels/dXJuOmV4YW1wbGU6ZGF0YQ", "").Code)
	require.NoError(t, store.close())
	store = open(t, path)
	require.Equal(t, http.StatusNotFound, call("GET", "/api/v3.1/submodels/dXJuOmV4YW1wbGU6ZGF0YQ", "").Code)
	require.NoError(t, store.close())
}

package aasapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
)

const endpoint = `"endpoints":[{"interface":"SUBMODEL-3.1","protocolInformation":{"href":"http://x"}}]`

// bulk makes a bulk change and returns the answer of its result.
func (r *rig) bulk(method, path, body string) answer {
	r.t.Helper()
	accepted := r.require(http.StatusAccepted, method, path, body)
	require.Empty(r.t, accepted.body)
	status := accepted.header.Get("Location")
	require.True(r.t, strings.HasPrefix(status, v31+"/bulk/status/"), status)
	result := r.until(status)
	require.Equal(r.t, strings.Replace(status, "/status/", "/result/", 1), result)
	return r.sendTo("GET", result, noBody)
}

// ids returns the ids of a list.
func (r *rig) ids(path string) []string {
	r.t.Helper()
	ids := []string{}
	for _, entry := range r.require(http.StatusOK, "GET", path, noBody).page(r.t).Result {
		d, err := aas.Decode[aas.ShellDescriptor](entry)
		require.NoError(r.t, err)
		ids = append(ids, d.ID)
	}
	return ids
}

func TestBulkChangesOfTheRegistries(t *testing.T) {
	for path, member := range map[string]string{"/shell-descriptors": "", "/submodel-descriptors": "," + endpoint} {
		r := start(t, rigOptions{api: aasapi.Options{NoOwnDescriptors: true}})
		r.strict = true
		at := "/bulk" + path
		entry := func(id, more string) string { return `{"id":"` + id + `"` + member + more + `}` }

		require.Equal(t, http.StatusNoContent, r.bulk("POST", at, `[`+entry("urn:a", "")+`,`+entry("urn:b", "")+`]`).status)
		require.Equal(t, []string{"urn:a", "urn:b"}, r.ids(path))
		require.Equal(t, http.StatusNoContent, r.bulk("PUT", at, `[`+entry("urn:c", "")+`,`+entry("urn:b", `,"idShort":"Boiler"`)+`]`).status)
		require.Equal(t, []string{"urn:a", "urn:b", "urn:c"}, r.ids(path))
		require.Contains(t, r.require(http.StatusOK, "GET", path+"/"+b64("urn:b"), noBody).body, `"idShort":"Boiler"`)
		require.Equal(t, http.StatusNoContent, r.bulk("DELETE", at, `["urn:c","urn:a"]`).status)
		require.Equal(t, []string{"urn:b"}, r.ids(path))

		// One entry that cannot be is enough: nothing is changed, and the message says which one it is.
		for _, bad := range []struct{ method, body, says string }{
			{"POST", `[` + entry("urn:x", "") + `,` + entry("urn:b", "") + `]`, "[1].id is taken"},
			{"POST", `[` + entry("urn:x", "") + `,` + entry("urn:x", "") + `]`, "[1].id is a duplicate"},
			{"POST", `[` + entry("urn:x", "") + `,` + entry("", "") + `]`, "[1].id is required"},
			{"PUT", `[` + entry("urn:x", "") + `,` + entry("urn:b", `,"idShort":"1 no name"`) + `]`, "[1].idShort "},
			{"DELETE", `["urn:b","urn:x"]`, "[1] is not there"},
		} {
			a := r.bulk(bad.method, at, bad.body)
			require.Equal(t, http.StatusBadRequest, a.status, bad)
			require.Contains(t, a.body, bad.says)
		}
		require.Equal(t, []string{"urn:b"}, r.ids(path))

		for _, bad := range []string{noBody, `{}`, `[]`, `null`, `[1,`, `[[]]`, `["urn:b",{}]`, `[` + strings.Repeat(`"urn:b",`, 10_000) + `"urn:b"]`} {
			for _, method := range []string{"POST", "PUT", "DELETE"} {
				r.require(http.StatusBadRequest, method, at, bad)
			}
		}
		require.Contains(t, r.require(http.StatusBadRequest, "POST", at, `[`+entry("urn:x", "")+`,{"id":7}]`).body, "[1].id")
		r.require(http.StatusMethodNotAllowed, "GET", at, noBody)
	}
}

func TestBulkHandles(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := start(t, rigOptions{api: aasapi.Options{KeepResults: time.Minute, Now: func() time.Time { return now }}})
	for _, path := range []string{"/bulk/status/", "/bulk/result/"} {
		r.require(http.StatusNotFound, "GET", path+b64("none"), noBody)
		r.require(http.StatusBadRequest, "GET", path+"!", noBody)
	}
	// It is served below the older prefix as well, and its result is there.
	accepted := r.sendTo("POST", "/api/v3.0/bulk/shell-descriptors", `[{"id":"urn:a"}]`)
	result := r.until(accepted.header.Get("Location"))
	require.True(t, strings.HasPrefix(result, "/api/v3.0/bulk/result/"), result)
	for range 2 {
		require.Equal(t, http.StatusNoContent, r.sendTo("GET", result, noBody).status)
	}
	handle := result[strings.LastIndex(result, "/")+1:]
	r.require(http.StatusNotFound, "GET", aData+"/submodel-elements/double/operation-status/"+handle, noBody)
	now = now.Add(2 * time.Minute)
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", result, noBody).status)
}

func TestHandlesAreThoseOfOneUser(t *testing.T) {
	r := withMachine(t, &machine{}, aasapi.Options{Guard: func(_ auth.Operation, h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx := problem.WithTrace(req.Context(), problem.NewTraceID(), slog.New(slog.DiscardHandler))
			problem.SetSubject(ctx, req.Header.Get("X-User"))
			h.ServeHTTP(w, req.WithContext(ctx))
		})
	}})
	for at, body := range map[string]string{
		"/bulk/shell-descriptors":                                `[{"id":"urn:a"}]`,
		aData + "/submodel-elements/double/invoke-async":         fullRequest,
		aPump + aData + "/submodel-elements/double/invoke-async": fullRequest,
	} {
		status := r.require(http.StatusAccepted, "POST", at, body, "X-User", "ada").header.Get("Location")
		require.Equal(t, http.StatusNotFound, r.sendTo("GET", status, noBody, "X-User", "bob").status)
		require.Equal(t, http.StatusNotFound, r.sendTo("GET", status, noBody).status)
		require.NotEqual(t, http.StatusNotFound, r.sendTo("GET", status, noBody, "X-User", "ada").status)
	}
}

// heldStore is a store whose batches wait.
type heldStore struct {
	repository.Store
	release chan struct{}
	err     error
}

func (s *heldStore) Write(ctx context.Context, b repository.Batch) ([]uint64, error) {
	select {
	case <-s.release:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.err != nil {
		return nil, s.err
	}
	return s.Store.Write(ctx, b)
}

func startHeld(t *testing.T, store *heldStore, o aasapi.Options) *rig {
	service, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, o)
	require.NoError(t, err)
	server := httptest.NewServer(api)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, api.Close(context.Background()))
		require.NoError(t, service.Close(context.Background()))
	})
	return &rig{t: t, service: service, api: api, url: server.URL, client: client}
}

func TestBulkChangesAreBounded(t *testing.T) {
	store := &heldStore{Store: repository.NewMemory(), release: make(chan struct{})}
	r := startHeld(t, store, aasapi.Options{MaxBodyBytes: 100})
	r.strict = true
	var all []string
	for i := range 4 {
		body := `[{"id":"urn:` + strconv.Itoa(i) + `"}]`
		body += strings.Repeat(" ", 100-len(body))
		all = append(all, r.require(http.StatusAccepted, "POST", "/bulk/shell-descriptors", body).header.Get("Location"))
	}
	require.Contains(t, r.sendTo("GET", all[0], noBody).body, `"executionState":"Running"`)
	require.Equal(t, http.StatusNotFound, r.sendTo("GET", strings.Replace(all[0], "/status/", "/result/", 1), noBody).status)
	r.strict = false // the document has no word for this
	refused := r.require(http.StatusServiceUnavailable, "DELETE", "/bulk/shell-descriptors", `["urn:0"]`)
	require.NotEmpty(t, refused.header.Get("Retry-After"))
	close(store.release)
	for _, status := range all {
		require.Equal(t, http.StatusNoContent, r.sendTo("GET", r.until(status), noBody).status)
	}
	for range 10 { // what is refused gives its room back as well
		r.require(http.StatusBadRequest, "POST", "/bulk/shell-descriptors", `[`+strings.Repeat(" ", 99))
	}
	require.Equal(t, http.StatusNoContent, r.bulk("DELETE", "/bulk/shell-descriptors", `["urn:0"]`).status)
}

func TestBulkChangesThatFailForAnotherReason(t *testing.T) {
	store := &heldStore{Store: repository.NewMemory(), release: make(chan struct{}), err: http.ErrBodyNotAllowed}
	r := startHeld(t, store, aasapi.Options{})
	close(store.release)
	a := r.bulk("POST", "/bulk/shell-descriptors", `[{"id":"urn:a"}]`)
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.NotContains(t, a.body, store.err.Error())

	store.release, store.err = make(chan struct{}), nil
	status := r.require(http.StatusAccepted, "POST", "/bulk/shell-descriptors", `[{"id":"urn:a"}]`).header.Get("Location")
	require.NoError(t, r.api.Close(t.Context()))
	require.Equal(t, http.StatusInternalServerError, r.sendTo("GET", r.until(status), noBody).status)
	require.Empty(t, r.ids("/shell-descriptors"))
	r.require(http.StatusServiceUnavailable, "POST", "/bulk/shell-descriptors", `[{"id":"urn:a"}]`)
}

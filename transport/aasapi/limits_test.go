package aasapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/aasxml"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

func (r *rig) contains(a answer, text string) {
	r.t.Helper()
	require.Contains(r.t, a.body, text)
}

func TestSerializationsAreBounded(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{MaxSerializedBytes: 2000}})
	r.require(http.StatusOK, "GET", "/serialization", noBody) // as it is stored, page by page
	r.require(http.StatusOK, "GET", "/serialization?aasIds="+b64(pumpID), noBody)
	r.require(http.StatusRequestEntityTooLarge, "GET", "/serialization?submodelIds="+b64(dataID), noBody)
	for _, form := range []string{"application/xml", "application/asset-administration-shell-package+xml"} {
		r.require(http.StatusRequestEntityTooLarge, "GET", "/serialization", noBody, "Accept", form)
	}
}

// slow is a store that finds nothing before it is told to.
type slow struct {
	repository.Store
	entered, leave chan struct{}
}

func (s slow) Find(ctx context.Context, q repository.Query) (repository.Page, error) {
	s.entered <- struct{}{}
	<-s.leave
	return s.Store.Find(ctx, q)
}

func TestFewSerializationsAtOnce(t *testing.T) {
	store := slow{repository.NewMemory(), make(chan struct{}, 100), make(chan struct{})}
	service, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	api, err := aasapi.New(service, aasapi.Options{})
	require.NoError(t, err)
	get := func() *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", v31+"/serialization", nil)
		r.Header.Set("Accept", "application/xml")
		api.ServeHTTP(w, r)
		return w
	}
	statuses := make(chan int, 2)
	for range 2 {
		go func() { statuses <- get().Code }()
		<-store.entered
	}
	refused := get()
	require.Equal(t, http.StatusServiceUnavailable, refused.Code)
	require.NotEmpty(t, refused.Header().Get("Retry-After"))
	close(store.leave)
	require.Equal(t, []int{200, 200}, []int{<-statuses, <-statuses})
	require.Equal(t, http.StatusOK, get().Code)
}

func TestXMLIsNamedAsItWasAskedFor(t *testing.T) {
	r := start(t, rigOptions{})
	a := r.send("GET", "/serialization", noBody, "Accept", "text/xml")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "text/xml", a.header.Get("Content-Type"))
	_, err := aasxml.Decode(bytes.NewReader([]byte(a.body)), aasxml.Limits{})
	require.NoError(t, err)
}

// hasty runs an API behind a server with a short time limit for answers.
func hasty(t *testing.T, r *rig) string {
	server := httptest.NewUnstartedServer(r.api)
	server.Config.WriteTimeout = 100 * time.Millisecond // a limit for reading would count how busy the machine is
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func TestALongOperationIsAnswered(t *testing.T) {
	m := &machine{waiting: make(chan struct{})}
	r := withMachine(t, m, aasapi.Options{})
	r.url = hasty(t, r)
	time.AfterFunc(300*time.Millisecond, func() { close(m.waiting) })
	require.JSONEq(t, fullResult, r.require(http.StatusOK, "POST", aData+"/submodel-elements/double/invoke", fullRequest).body)
}

func TestALongAnswerIsNotCut(t *testing.T) {
	r := start(t, rigOptions{})
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than a connection holds
	body, header := form(t, "m.bin", "application/octet-stream", data)
	r.require(http.StatusNoContent, "PUT", aData+"/submodel-elements/manual/attachment", body, "Content-Type", header)
	url := hasty(t, r)
	for path, accept := range map[string]string{
		aData + "/submodel-elements/manual/attachment": "*/*", "/serialization": "application/asset-administration-shell-package+xml",
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+v31+path, nil)
		require.NoError(t, err)
		req.Header.Set("Accept", accept)
		resp, err := r.client.Do(req)
		require.NoError(t, err)
		time.Sleep(200 * time.Millisecond)
		n, err := io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, resp.ContentLength, n)
	}
}

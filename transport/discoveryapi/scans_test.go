package discoveryapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridgeclient"
)

// searching is a scanner whose searches run until they are ended.
type searching chan struct{}

func (s searching) Scan(ctx context.Context, _ string) ([]discovery.Found, error) {
	s <- struct{}{}
	<-ctx.Done()
	return nil, nil
}

func TestOneCallerDoesNotRunAllScans(t *testing.T) {
	client, err := bridgeclient.New(bridgeclient.Options{})
	require.NoError(t, err)
	began := make(searching, 20)
	service, err := discovery.New(t.Context(), discovery.Deps{Store: discovery.NewMemory(), Bridges: client, Scanner: began}, discovery.Options{EngineID: "engine-1"})
	require.NoError(t, err)
	type name struct{}
	api, err := New(service, Options{Caller: func(ctx context.Context) string { return ctx.Value(name{}).(string) }})
	require.NoError(t, err)
	r := chi.NewRouter()
	api.Mount(r)
	var wg sync.WaitGroup
	scan := func(ctx context.Context, caller string, seconds int) int {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(context.WithValue(ctx, name{}, caller), http.MethodGet, "/api/discovery/scan?timeoutSeconds="+strconv.Itoa(seconds), nil))
		return w.Code
	}
	ctx, cancel := context.WithCancel(t.Context())
	for i := range 4 {
		wg.Go(func() { scan(ctx, "eve", 20+i) })
	}
	for range 4 {
		<-began
	}
	require.Equal(t, http.StatusTooManyRequests, scan(t.Context(), "eve", 20))
	leaving, leave := context.WithCancel(t.Context())
	leave()
	require.NotEqual(t, http.StatusTooManyRequests, scan(leaving, "ann", 20))
	cancel()
	wg.Wait()
	require.NotEqual(t, http.StatusTooManyRequests, scan(leaving, "eve", 20))
}

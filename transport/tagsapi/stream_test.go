package tagsapi_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/middleware"
	"github.com/otkit/otkit/transport/tagsapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs the API behind a server with the given limits.
func serve(t *testing.T, engine *tags.Engine, o middleware.ServerOptions) (url string) {
	t.Helper()
	r := chi.NewRouter()
	r.Use(middleware.EscapedPath, middleware.DropEmptyQuery)
	api, err := tagsapi.New(engine, tagsapi.Options{})
	require.NoError(t, err)
	api.Mount(r)
	server, err := middleware.NewServer(r, o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestAStreamOutlivesTheLimitsOfAnAnswer(t *testing.T) {
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, engine.Close(context.Background())) }()
	define := func(name string) {
		require.NoError(t, engine.DefineTags(tags.Tag{Name: name, Driver: "d", DataType: tags.Int}))
	}
	define("one")
	const limit = time.Second
	url := serve(t, engine, middleware.ServerOptions{HeaderTimeout: limit, RequestTimeout: limit, WriteTimeout: limit, IdleTimeout: limit})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/v1/tags/stream?patterns=%25&throttleMs=0", nil)
	require.NoError(t, err)
	resp, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	next := func() string {
		for {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			if strings.HasPrefix(line, "data: ") {
				return line
			}
		}
	}
	first := next()
	require.Contains(t, first, `"tagName":"one"`)
	require.Contains(t, first, `"quality":"Bad","qualityReason":"NoDriver"`)
	time.Sleep(2 * limit) // nothing is said meanwhile
	define("two")
	require.Contains(t, next(), `"tagName":"two"`)
}

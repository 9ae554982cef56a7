package console_test

import (
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/console"
	"github.com/otkit/otkit/transport/server"
)

var script = strings.Repeat("let plant = 'live';\n", 100)

func newServer(t *testing.T, files fs.FS) http.Handler {
	t.Helper()
	c, err := console.New(files)
	require.NoError(t, err)
	s, err := server.New(t.Context(), server.Options{Authenticator: nobody{}}, c.Part())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	s.Start()
	return s.Handler()
}

func get(h http.Handler, method, path string, header map[string]string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	var from io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		var err error
		from, err = gzip.NewReader(from)
		require.NoError(t, err)
	}
	all, err := io.ReadAll(from)
	require.NoError(t, err)
	return string(all)
}

func TestThePageAndItsAssets(t *testing.T) {
	t.Parallel()
	h := newServer(t, fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "assets/app-1a.js": {Data: []byte(script)}})
	for path, caching := range map[string]string{"/": "no-cache", "/console/assets/app-1a.js": "public, max-age=31536000, immutable"} {
		tags := map[string]bool{}
		for _, coding := range []string{"", "gzip", "br;q=1, gzip;q=0.5", "gzip;q=0", "*"} {
			r := get(h, http.MethodGet, path, map[string]string{"Accept-Encoding": coding})
			require.Equal(t, 200, r.StatusCode)
			require.Equal(t, caching, r.Header.Get("Cache-Control"))
			require.Contains(t, r.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';")
			require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
			require.Equal(t, "DENY", r.Header.Get("X-Frame-Options"))
			require.Contains(t, r.Header.Values("Vary"), "Accept-Encoding")
			gzipped := path != "/" && (strings.HasPrefix(coding, "gzip") || strings.HasPrefix(coding, "br") || coding == "*") && coding != "gzip;q=0"
			require.Equal(t, gzipped, r.Header.Get("Content-Encoding") == "gzip", "%s %q", path, coding)
			if path != "/" {
				require.Equal(t, script, text(t, r))
			}
			tag := r.Header.Get("ETag")
			tags[tag] = true
			again := get(h, http.MethodGet, path, map[string]string{"Accept-Encoding": coding, "If-None-Match": `"old", ` + tag})
			require.Equal(t, 304, again.StatusCode)
			require.Empty(t, text(t, again))
			require.Equal(t, tag, again.Header.Get("ETag"))
			head := get(h, http.MethodHead, path, map[string]string{"Accept-Encoding": coding})
			require.Equal(t, 200, head.StatusCode)
			require.Equal(t, r.Header, head.Header)
			body, err := io.ReadAll(head.Body)
			require.NoError(t, err)
			require.Empty(t, body)
		}
		require.Len(t, tags, map[bool]int{true: 1, false: 2}[path == "/"], "each form has a tag of its own")
	}
	require.Equal(t, "text/javascript; charset=utf-8", get(h, http.MethodGet, "/console/assets/app-1a.js", nil).Header.Get("Content-Type"))
}

func TestUnknownPathsAreNotThePage(t *testing.T) {
	t.Parallel()
	h := newServer(t, fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "assets/app-1a.js": {Data: []byte(script)}, "secret.txt": {Data: []byte("no asset")}})
	for _, path := range []string{"/tags", "/index.html", "/console", "/console/", "/console/assets", "/console/assets/", "/console/assets/app.js",
		"/console/assets/../index.html", "/console/assets/..%2findex.html", "/console/assets/../secret.txt", "/secret.txt"} {
		r := get(h, http.MethodGet, path, nil)
		require.Equal(t, 404, r.StatusCode, path)
		require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"), path)
	}
	require.Equal(t, 405, get(h, http.MethodPost, "/", nil).StatusCode)
}

func TestTheEmbeddedConsoleLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, files := range []fs.FS{console.Assets(), console.BridgeAssets()} {
		h := newServer(t, files)
		page := text(t, get(h, http.MethodGet, "/", nil))
		require.Contains(t, strings.ToLower(page), "<!doctype html>")
		require.NotContains(t, page, "http://")
		require.NotContains(t, page, "https://")
		require.NotContains(t, page, "style=")
		for _, part := range strings.Split(page, `"`)[1:] {
			if strings.HasPrefix(part, "/") {
				require.Equal(t, 200, get(h, http.MethodGet, part, nil).StatusCode, part)
			}
		}
	}
}

func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	_, err := console.New(nil)
	require.Error(t, err)
	_, err = console.New(fstest.MapFS{"assets/app.js": {Data: []byte(script)}})
	require.ErrorContains(t, err, "index.html")
}

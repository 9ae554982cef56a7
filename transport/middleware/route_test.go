package middleware

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"
)

// router has the shapes of routes that the service interface has.
func router(t testing.TB) chi.Router {
	say := func(what string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			id, err := url.PathUnescape(chi.URLParam(r, "id"))
			require.NoError(t, err)
			w.Header().Set("Id", url.QueryEscape(id))
			_, _ = w.Write([]byte(what))
		}
	}
	root := chi.NewRouter()
	root.Use(EscapedPath)
	Fallbacks(root)
	root.Get("/api/v1/tags", say("list"))
	root.Get("/api/v1/tags/{id}", say("tag"))
	root.Post("/api/v1/tags:batchRead", say("batch"))
	root.Group(func(r chi.Router) {
		r.Get("/api/v1/aas/{id}", say("shell"))
		r.Put("/api/v1/aas/{id}", say("shell"))
		r.Get("/api/v1/aas/{id}/submodels", say("submodels"))
	})
	root.Route("/api/bridge", func(r chi.Router) {
		r.Get("/status", say("status"))
		r.Delete("/bind/{id}", say("unbind"))
	})
	sub := chi.NewRouter()
	sub.Get("/x", say("mounted"))
	root.Mount("/mounted", sub)
	return root
}

func TestAwkwardIdentifiers(t *testing.T) {
	h := router(t)
	for _, id := range []string{
		"urn:example:aas:1", "https://example.com/ids/1#x", "0173-1#02-BAA120#008", "a+b", "a b", "a%2Fb", "100%", "%20",
		"%3A", "%253A", "?", ";", ",", "a;b,c", "grüße", "日本", `back\slash`, "//", "/lead", "trail/", "x/submodels", "submodels", "~", "\t\"'",
		"a:b:c", "%", "%zz", "&=",
	} {
		for path, want := range map[string]string{"/api/v1/aas/": "shell", "/api/v1/tags/": "tag"} {
			w := serve(h, httptest.NewRequest("GET", path+url.PathEscape(id), nil))
			require.Equal(t, 200, w.Code, id)
			require.Equal(t, want, w.Body.String(), id)
			got, _ := url.QueryUnescape(w.Header().Get("Id"))
			require.Equal(t, id, got)
		}
		w := serve(h, httptest.NewRequest("GET", "/api/v1/aas/"+url.PathEscape(id)+"/submodels", nil))
		require.Equal(t, "submodels", w.Body.String(), id)
	}
	require.Equal(t, 404, serve(h, httptest.NewRequest("GET", "/api/v1/aas/", nil)).Code, "an empty id")
	require.Equal(t, 404, serve(h, httptest.NewRequest("GET", "/api/v1/aas/a/b", nil)).Code, "a raw slash")
}

func TestEncodedColonFindsItsRoute(t *testing.T) {
	h := router(t)
	for _, path := range []string{"/api/v1/tags:batchRead", "/api/v1/tags%3AbatchRead", "/api/v1/tags%3abatchRead"} {
		w := serve(h, httptest.NewRequest("POST", path, nil))
		require.Equal(t, "batch", w.Body.String(), path)
	}
}

func TestPathsThatNameNothing(t *testing.T) {
	h := router(t)
	for _, path := range []string{"/api/v1/aas/%ff", "/api/v1/aas/a%00b", "/api/v1/aas/%c0%af"} {
		w := serve(h, httptest.NewRequest("GET", path, nil))
		require.Equal(t, 404, w.Code)
		require.JSONEq(t, `{"errorCode":"NOT_FOUND","message":"there is nothing at this path"}`, w.Body.String())
	}
}

func TestFallbacks(t *testing.T) {
	h := router(t)
	tests := []struct {
		method, path string
		status       int
		allow, body  string
	}{
		{"GET", "/nothing", 404, "", `"code":"NOT_FOUND"`},
		{"GET", "/api/v1/aas-registry/nothing", 404, "", `"errorCode":"NOT_FOUND"`},
		{"OPTIONS", "/nothing", 404, "", ""},
		{"DELETE", "/api/v1/tags", 405, "GET, HEAD, OPTIONS", `"code":"METHOD_NOT_ALLOWED"`},
		{"DELETE", "/api/v1/aas/a%2Fb", 405, "GET, HEAD, OPTIONS, PUT", `"errorCode":"METHOD_NOT_ALLOWED"`},
		{"GET", "/api/v1/tags%3AbatchRead", 405, "OPTIONS, POST", ""},
		{"OPTIONS", "/api/v1/tags:batchRead", 204, "OPTIONS, POST", ""},
		{"OPTIONS", "/api/v1/aas/urn:a", 204, "GET, HEAD, OPTIONS, PUT", ""},
		{"HEAD", "/api/v1/tags", 200, "", "list"},
		{"HEAD", "/api/v1/aas/a%2Fb/submodels", 200, "", "submodels"},
		{"HEAD", "/api/v1/tags:batchRead", 405, "OPTIONS, POST", ""},
		{"HEAD", "/nothing", 404, "", ""},
		{"POST", "/api/bridge/status", 405, "GET, HEAD, OPTIONS", `"code":"METHOD_NOT_ALLOWED"`},
		{"HEAD", "/api/bridge/status", 200, "", "status"},
		{"OPTIONS", "/api/bridge/bind/7", 204, "DELETE, OPTIONS", ""},
		{"GET", "/api/bridge/nothing", 404, "", `"code":"NOT_FOUND"`},
		{"PUT", "/mounted/x", 405, "GET, HEAD, OPTIONS", `"code":"METHOD_NOT_ALLOWED"`},
		{"GET", "/mounted/nothing", 404, "", `"code":"NOT_FOUND"`},
		{"BREW", "/api/v1/tags", 405, "GET, HEAD, OPTIONS", `"code":"METHOD_NOT_ALLOWED"`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := serve(h, httptest.NewRequest(tt.method, tt.path, nil))
			require.Equal(t, tt.status, w.Code)
			require.Equal(t, tt.allow, w.Header().Get("Allow"))
			require.Contains(t, w.Body.String(), tt.body)
		})
	}
}

func TestHeadHasNoBodyOnTheWire(t *testing.T) {
	server := httptest.NewServer(router(t))
	defer server.Close()
	resp, err := http.Head(server.URL + "/api/v1/tags")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 200, resp.StatusCode)
	require.EqualValues(t, 4, resp.ContentLength)
	http.DefaultClient.CloseIdleConnections()
}

func TestCORS(t *testing.T) {
	wrap := func(o CORSOptions) http.Handler {
		cors, err := CORS(o)
		require.NoError(t, err)
		return cors(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }))
	}
	preflight := func(origin string) *http.Request {
		r := httptest.NewRequest("OPTIONS", "/", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Method", "PUT")
		r.Header.Set("Access-Control-Request-Headers", "authorization")
		return r
	}
	some := wrap(CORSOptions{Origins: []string{"https://hmi.example.com"}, Credentials: true})

	got := serve(some, preflight("https://hmi.example.com"))
	require.Equal(t, 204, got.Code)
	require.Equal(t, "https://hmi.example.com", got.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", got.Header().Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "authorization", got.Header().Get("Access-Control-Allow-Headers"))
	require.Contains(t, got.Header().Get("Access-Control-Allow-Methods"), "PUT")
	require.Equal(t, "600", got.Header().Get("Access-Control-Max-Age"))
	require.Contains(t, got.Header().Values("Vary"), "Origin")

	for _, origin := range []string{"https://evil.example.com", "http://hmi.example.com", "https://hmi.example.com.evil", "null"} {
		got = serve(some, preflight(origin))
		require.Empty(t, got.Header().Values("Access-Control-Allow-Origin"), origin)
		require.Empty(t, got.Body.String())
	}
	r := httptest.NewRequest("GET", "/", nil)
	require.Equal(t, "Origin", serve(some, r).Header().Get("Vary"), "caches keep origins apart")
	r.Header.Set("Origin", "https://hmi.example.com")
	got = serve(some, r)
	require.Equal(t, "ok", got.Body.String())
	require.Equal(t, "https://hmi.example.com", got.Header().Get("Access-Control-Allow-Origin"))
	require.Contains(t, got.Header().Get("Access-Control-Expose-Headers"), "Location")

	require.Equal(t, "*", serve(wrap(CORSOptions{Origins: []string{"*"}}), r).Header().Get("Access-Control-Allow-Origin"))
	require.Empty(t, serve(wrap(CORSOptions{}), r).Header().Get("Access-Control-Allow-Origin"))

	for _, bad := range []CORSOptions{
		{Origins: []string{"*"}, Credentials: true}, {Origins: []string{"*", "https://a.example"}},
		{Origins: []string{"hmi.example.com"}}, {Origins: []string{"https://a.example/"}}, {MaxAge: -1},
	} {
		_, err := CORS(bad)
		require.Error(t, err)
	}
}

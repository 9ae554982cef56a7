package auth_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/auth"
)

func whoami(w http.ResponseWriter, r *http.Request) {
	name := "nobody"
	if p, ok := auth.From(r.Context()); ok {
		name = p.Name
	}
	_, _ = io.WriteString(w, name)
}

var guardedRows = []auth.Operation{
	{ID: "open", Method: "GET", Path: "/open", Access: auth.Open},
	{ID: "any", Method: "POST", Path: "/any", Access: auth.AnyRole},
	{ID: "view", Method: "GET", Path: "/api/things/{id}", Access: auth.Viewer},
	{ID: "operate", Method: "PATCH", Path: "/api/things/{id}", Access: auth.Operator},
	{ID: "change", Method: "DELETE", Path: "/api/things/{id}", Access: auth.Admin},
	{ID: "surface", Method: "PUT", Path: "/surface", Access: auth.Admin, OpenSurface: true},
	{ID: "stream", Method: "GET", Path: "/stream", Access: auth.Viewer, QueryToken: true},
	{ID: "hub", Method: "GET", Path: "/hub", Access: auth.Viewer, QueryToken: true},
	{ID: "hubSend", Method: "POST", Path: "/hub", Access: auth.Viewer},
}

func guardedServer(t *testing.T, p plant, opts auth.GuardOptions) http.Handler {
	t.Helper()
	g := p.guard(t, opts, guardedRows...)
	mux := chi.NewRouter()
	r := g.Router(mux)
	r.Get("/open", whoami)
	r.With(func(h http.Handler) http.Handler { return h }).Post("/any", whoami)
	r.Route("/api", func(r chi.Router) {
		r.Route("/things", func(r chi.Router) {
			r.Get("/{thing_id}", whoami) // the name of a parameter is no matter of the table
			r.Group(func(r chi.Router) {
				r.Patch("/{id:[a-z]{1,9}}", whoami)
				r.Method("DELETE", "/{id}", http.HandlerFunc(whoami))
			})
		})
	})
	r.Put("/surface", whoami)
	r.Get("/stream", whoami)
	r.HandleFunc("/hub", whoami)
	require.NoError(t, g.Err())
	return mux
}

func ask(h http.Handler, method, target string, authorization ...string) (int, string) {
	r := httptest.NewRequest(method, target, nil)
	for _, value := range authorization {
		r.Header.Add("Authorization", value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestRolesOverHTTP(t *testing.T) {
	p := newPlant(t, auth.Options{})
	h := guardedServer(t, p, auth.GuardOptions{})
	bearer := func(name string) string { return "Bearer " + p.login(t, name).AccessToken }
	viewer, operator, admin := bearer("viewer"), bearer("operator"), bearer("admin")
	for _, row := range []struct {
		method, path                    string
		nobody, viewer, operator, admin int
	}{
		{"GET", "/open", 200, 200, 200, 200},
		{"POST", "/any", 401, 200, 200, 200},
		{"GET", "/api/things/a", 401, 200, 200, 200},
		{"PATCH", "/api/things/a", 401, 403, 200, 200},
		{"DELETE", "/api/things/a", 401, 403, 403, 200},
		{"PUT", "/surface", 200, 200, 200, 200},
		{"GET", "/stream", 401, 200, 200, 200},
		{"GET", "/hub", 401, 200, 200, 200},
		{"POST", "/hub", 401, 200, 200, 200},
		{"PUT", "/hub", 405, 405, 405, 405},
	} {
		got := [4]int{}
		got[0], _ = ask(h, row.method, row.path)
		got[1], _ = ask(h, row.method, row.path, viewer)
		got[2], _ = ask(h, row.method, row.path, operator)
		got[3], _ = ask(h, row.method, row.path, admin)
		require.Equal(t, [4]int{row.nobody, row.viewer, row.operator, row.admin}, got, "%s %s", row.method, row.path)
	}
	_, code := ask(h, "GET", "/api/things/a")
	require.Equal(t, "UNAUTHORIZED", code)
	_, code = ask(h, "DELETE", "/api/things/a", viewer)
	require.Equal(t, "FORBIDDEN", code)
	_, name := ask(h, "GET", "/api/things/a", operator)
	require.Equal(t, "operator", name)
}

func TestOpenSurfaces(t *testing.T) {
	p := newPlant(t, auth.Options{})
	viewer, admin := "Bearer "+p.login(t, "viewer").AccessToken, "Bearer "+p.login(t, "admin").AccessToken
	open := guardedServer(t, p, auth.GuardOptions{})
	for sent, name := range map[string]string{viewer: "viewer", "Bearer something-static": "nobody", "Basic Zm9v": "nobody"} {
		status, got := ask(open, "PUT", "/surface", sent)
		require.Equal(t, 200, status)
		require.Equal(t, name, got)
	}
	closed := guardedServer(t, p, auth.GuardOptions{OpenTo: func(context.Context, auth.Call) error { return auth.ErrUnauthenticated }})
	for sent, want := range map[string]int{"": 401, "Bearer something-static": 401, viewer: 403, admin: 200} {
		status, _ := ask(closed, "PUT", "/surface", sent)
		require.Equal(t, want, status, sent)
	}
	status, _ := ask(closed, "GET", "/open")
	require.Equal(t, 200, status)
}

func TestWhereTokensAreTakenFrom(t *testing.T) {
	p := newPlant(t, auth.Options{})
	h := guardedServer(t, p, auth.GuardOptions{})
	token := p.login(t, "viewer").AccessToken
	for _, good := range []string{"Bearer " + token, "bearer " + token, "BEARER   " + token, "Bearer " + token + " "} {
		status, _ := ask(h, "GET", "/api/things/a", good)
		require.Equal(t, 200, status, good)
	}
	for _, bad := range []string{"", "Bearer", "Bearer ", token, "Basic " + token, "Bearer\t" + token, "Bearer " + token + ", Bearer x", "Bearer a b", "Bearer\u00a0" + token} {
		status, _ := ask(h, "GET", "/api/things/a", bad)
		require.Equal(t, 401, status, bad)
	}
	status, _ := ask(h, "GET", "/api/things/a", "Bearer "+token, "Bearer "+token)
	require.Equal(t, 401, status, "two headers")

	query := "?access_token=" + url.QueryEscape(token)
	for target, want := range map[string]int{
		"/stream" + query:                            200,
		"/hub" + query:                               200,
		"/api/things/a" + query:                      401,
		"/stream?access_token=":                      401,
		"/stream" + query + "&access_token=" + token: 401,
	} {
		status, _ = ask(h, "GET", target)
		require.Equal(t, want, status, target)
	}
	status, _ = ask(h, "POST", "/hub"+query)
	require.Equal(t, 401, status)
	status, _ = ask(h, "GET", "/stream"+query, "Bearer x")
	require.Equal(t, 401, status, "the header goes first")
}

// unread is a body that fails the test when somebody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read before the caller was known")
	return 0, io.EOF
}

func TestRefusedBeforeTheBodyIsRead(t *testing.T) {
	h := guardedServer(t, newPlant(t, auth.Options{}), auth.GuardOptions{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/any", unread{t}))
	require.Equal(t, 401, w.Code)
}

func TestRoutesWithoutARowAreNotServed(t *testing.T) {
	p := newPlant(t, auth.Options{})
	g := p.guard(t, auth.GuardOptions{}, guardedRows...)
	mux := chi.NewRouter()
	r := g.Router(mux)
	forgotten := []func(string, http.HandlerFunc){
		r.Connect, r.Delete, r.Get, r.Head, r.Options, r.Patch, r.Post, r.Put, r.Query, r.Trace, r.HandleFunc,
		func(path string, h http.HandlerFunc) { r.Handle(path, h) },
		func(path string, h http.HandlerFunc) { r.Method("GET", path, h) },
		func(path string, h http.HandlerFunc) { r.MethodFunc("GET", path, h) },
		func(path string, h http.HandlerFunc) { r.With().Get(path, h) },
		func(path string, h http.HandlerFunc) { r.Group(nil).Get(path, h) },
		func(path string, h http.HandlerFunc) { r.Group(func(r chi.Router) { r.Get(path, h) }) },
		func(path string, h http.HandlerFunc) { r.Route("/in", func(r chi.Router) { r.Get(path, h) }) },
		func(path string, h http.HandlerFunc) { r.Route("/at", nil).Get(path, h) },
		func(path string, h http.HandlerFunc) { r.Mount(path, h) },
	}
	for _, register := range forgotten {
		register("/forgotten", whoami)
	}
	require.ErrorContains(t, g.Err(), "/forgotten")
	require.Len(t, strings.Split(g.Err().Error(), "\n"), len(forgotten), "%v", g.Err())
	for _, path := range []string{"/forgotten", "/in/forgotten", "/at/forgotten", "/forgotten/x"} {
		status, _ := ask(mux, "GET", path)
		require.Equal(t, 404, status, path)
	}
}

func BenchmarkGuardedHandler(b *testing.B) {
	p := newPlant(b, auth.Options{})
	g := p.guard(b, auth.GuardOptions{}, auth.Operation{ID: "x", Method: "GET", Path: "/x", Access: auth.Viewer})
	h := g.Handler(auth.Operation{Access: auth.Viewer}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/x", nil)
	r.Header.Set("Authorization", "Bearer "+p.login(b, "viewer").AccessToken)
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
	if w.Code != 200 {
		b.Fatal(w.Code)
	}
}

// An open surface is open to whom OpenTo lets in; a token or a static token that fits needs no such leave.
func TestOpenSurfacesToSome(t *testing.T) {
	p := newPlant(t, auth.Options{})
	viewer, admin := "Bearer "+p.login(t, "viewer").AccessToken, "Bearer "+p.login(t, "admin").AccessToken
	closed := auth.ErrUnauthenticated.Because("only from here")
	var asked []auth.Call
	var refused []error
	here := false
	h := guardedServer(t, p, auth.GuardOptions{
		StaticTokens: map[string]string{"surface": "st@tic!"},
		OpenTo: func(_ context.Context, c auth.Call) error {
			asked = append(asked, c)
			if here {
				return nil
			}
			return closed
		},
		OnRefused: func(_ context.Context, _ auth.Operation, err error) { refused = append(refused, err) },
	})
	for sent, want := range map[string]int{"": 401, "Bearer wrong": 401, "Basic Zm9v": 401, viewer: 403, admin: 200, "Bearer st@tic!": 200} {
		status, _ := ask(h, "PUT", "/surface", sent)
		require.Equal(t, want, status, sent)
	}
	require.Len(t, refused, 4)
	require.Len(t, asked, 4, "who has a token that fits is not looked at")
	require.Equal(t, "surface", asked[0].Operation.ID)
	require.Equal(t, "example.com", asked[0].Host)
	here = true
	for _, sent := range []string{"", "Bearer wrong", viewer} {
		status, _ := ask(h, "PUT", "/surface", sent)
		require.Equal(t, 200, status, sent)
	}
	require.Len(t, refused, 4)
}

func TestCallsAreLimitedOnceTheCallerIsKnown(t *testing.T) {
	p := newPlant(t, auth.Options{})
	var counted []string
	h := guardedServer(t, p, auth.GuardOptions{Limit: func(ctx context.Context, op auth.Operation) error {
		who, _ := auth.From(ctx)
		if who == nil {
			return nil
		}
		if counted = append(counted, who.Name); len(counted) > 1 {
			return auth.ErrForbidden
		}
		return nil
	}})
	token := "Bearer " + p.login(t, "viewer").AccessToken
	for _, want := range []int{200, 403} {
		status, _ := ask(h, "GET", "/api/things/a", token)
		require.Equal(t, want, status)
	}
	status, _ := ask(h, "GET", "/api/things/a")
	require.Equal(t, 401, status)
	require.Equal(t, []string{"viewer", "viewer"}, counted)
}

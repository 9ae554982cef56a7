package middleware

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/otkit/otkit/transport/problem"
)

// Fallbacks sets a router's answers to requests that match no route: HEAD answers as GET; OPTIONS is 204
// with Allow; an unknown path is 404 and a wrong method 405 with Allow, with the error body of the
// surface. Call it on the outermost router, before routes are added.
func Fallbacks(router chi.Router) {
	router.Use(chimiddleware.GetHead)
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, problem.ErrNotFound, problem.FamilyOf(r.URL.Path))
	})
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(router, r), ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		problem.Write(w, r, problem.ErrMethodNotAllowed.With("method", r.Method), problem.FamilyOf(r.URL.Path))
	})
}

// allowed lists the methods that the path of a request takes.
func allowed(routes chi.Routes, r *http.Request) []string {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	methods := []string{http.MethodOptions}
	for _, m := range [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), m, path) {
			methods = append(methods, m)
			if m == http.MethodGet {
				methods = append(methods, http.MethodHead)
			}
		}
	}
	slices.Sort(methods)
	return methods
}

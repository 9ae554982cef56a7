package restapi

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
)

// PathParam returns a path parameter of a route, decoded once: chi takes it from the path as it was sent only where that differs from the
// usual encoding.
func PathParam(r *http.Request, name string) string {
	text := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return text
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

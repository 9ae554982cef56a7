package tagconfigapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// MaxTags returns how many tags the configuration may have for a caller to add one; 0 is no limit.
	// Default: no limit.
	MaxTags func(ctx context.Context) int
	// OnMaxTags is called when that limit has refused a request. It must not block. Default: none.
	OnMaxTags func(ctx context.Context)
	// References returns who uses tags, up to a few of them, before they are removed. Default: nobody is asked.
	References func(ctx context.Context, tagIDs []string) ([]tagconfig.Reference, error)
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of the configuration of tags.
type API struct {
	store *tagconfig.Store
	opts  Options
}

// New returns the API over store.
func New(store *tagconfig.Store, o Options) (*API, error) {
	if store == nil {
		return nil, errors.New("tagconfigapi: store is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{store: store, opts: o}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	handle := func(method, path string, h http.HandlerFunc) { r.Method(method, path, a.opts.Body(h)) }
	handle(http.MethodGet, "/api/v1.0/config/tags", a.get)
	handle(http.MethodPost, "/api/v1.0/config/tags/bulk", a.change)
	handle(http.MethodGet, "/api/v1.0/config/tags/export", a.export)
	handle(http.MethodPost, "/api/v1.0/config/tags/import", a.load)
	handle(http.MethodPost, "/api/v1.0/config/tags/remove", a.removeItems)
	handle(http.MethodGet, "/api/v1.0/config/tags/{tagId}", a.getItem)
	handle(http.MethodPut, "/api/v1.0/config/tags/{tagId}", a.putItem)
	handle(http.MethodDelete, "/api/v1.0/config/tags/{tagId}", a.removeItem)
}

package tagconfigapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/middleware"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// MaxTags returns how many tags the configuration may have for a caller to add one; 0 is no limit.
	// Default: no limit.
	MaxTags func(ctx context.Context) int
	// OnMaxTags is called when that limit has refused a request. It must not block. Default: none.
	OnMaxTags func(ctx context.Context)
	// References returns who uses tags that are to be removed; some of them are enough. It must be safe for concurrent use. Default:
	// nobody.
	References func(ctx context.Context, tagIDs []string) ([]tagconfig.Reference, error)
	// MayRemove returns an error for callers that may not remove items by an import with mode=replace. Default: everybody may.
	MayRemove func(ctx context.Context) error
	// OnImport is called with what an import has changed. It must not wait. Default: none.
	OnImport func(ctx context.Context, e tagconfig.FileEdit)
	// Refused returns why the running driver of an item cannot use its address, for warnings; empty if it can, or does not run. It
	// must be safe for concurrent use. Default: all can be used.
	Refused func(c *tagconfig.Config) string
	// MaxItems is how many items a file that is imported may have. Default: 200,000.
	MaxItems int
	// MaxImportBytes is how large it may be. The limit of Body does not hold for imports. Default: 128 MiB.
	MaxImportBytes int64

	Now    func() time.Time // default: time.Now
	Logger *slog.Logger     // default: discards

	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of the configuration of tags.
type API struct {
	store   *tagconfig.Store
	opts    Options
	imports *imports
	body    func(http.Handler) http.Handler // of imports
}

// New returns the API over store.
func New(store *tagconfig.Store, o Options) (*API, error) {
	if store == nil {
		return nil, errors.New("tagconfigapi: store is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	if o.MayRemove == nil {
		o.MayRemove = func(context.Context) error { return nil }
	}
	if o.Refused == nil {
		o.Refused = func(*tagconfig.Config) string { return "" }
	}
	if o.OnImport == nil {
		o.OnImport = func(context.Context, tagconfig.FileEdit) {}
	}
	if o.MaxItems < 0 || o.MaxImportBytes < 0 {
		return nil, errors.New("tagconfigapi: limits must not be negative")
	}
	if o.MaxImportBytes == 0 {
		o.MaxImportBytes = 128 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	body, err := middleware.MaxBody(o.MaxImportBytes)
	if err != nil {
		return nil, err
	}
	return &API{store: store, opts: o, imports: newImports(), body: body}, nil
}

const (
	basePath    = "/api/v1.0/config/tags"
	importsPath = basePath + "/imports"
)

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	handle := func(method, path string, h http.HandlerFunc) { r.Method(method, path, a.opts.Body(h)) }
	handle(http.MethodGet, basePath, a.get)
	handle(http.MethodPost, basePath+"/bulk", a.change)
	handle(http.MethodGet, basePath+"/export", a.export)
	r.Method(http.MethodPost, basePath+"/import", a.body(http.HandlerFunc(a.load)))
	handle(http.MethodGet, importsPath+"/{importId}", a.progress)
	handle(http.MethodDelete, importsPath+"/{importId}", a.cancel)
	handle(http.MethodPost, basePath+"/remove", a.removeItems)
	handle(http.MethodGet, basePath+"/{tagId}", a.getItem)
	handle(http.MethodPut, basePath+"/{tagId}", a.putItem)
	handle(http.MethodDelete, basePath+"/{tagId}", a.removeItem)
}

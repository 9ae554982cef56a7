package aasapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"github.com/otkit/otkit/aas/repository"
	auth "github.com/otkit/otkit/transport/auth/operation"
	"github.com/otkit/otkit/transport/problem"
)

// Options configures an [API]. The zero value serves everything to everybody.
type Options struct {
	// Guard puts the handler of an operation behind a check of the caller, as auth.Guard.Handler
	// does. Nil means no check.
	Guard func(op auth.Operation, h http.Handler) http.Handler
	// MaxBodyBytes limits a JSON body; 0 means 8 MiB.
	MaxBodyBytes int64
	// MaxDocumentBytes limits the JSON body of a whole shell, submodel, concept description or descriptor; 0 means
	// MaxBodyBytes or, where that is 0 too, 64 MiB: room for a submodel of [aas.MaxElements] elements.
	MaxDocumentBytes int64
	// MaxFileBytes limits an uploaded file; 0 means 32 MiB.
	MaxFileBytes int64
	// PageSize is how many entries a list has when the caller sets no limit, and MaxPageSize the most
	// that it has whatever the caller asks for, up to [repository.MaxPage]; 0 means 100 and 1000.
	PageSize, MaxPageSize int
	// MaxInvocations bounds the asynchronous invocations and the bulk changes of the registries that run
	// or whose results are kept; 0 means 1000.
	MaxInvocations int
	// KeepResults is how long the result of an asynchronous invocation or a bulk change is kept; 0 means
	// one hour.
	KeepResults time.Duration
	// InvocationTimeout bounds an invocation whose caller sets no time; 0 means one minute.
	InvocationTimeout time.Duration
	// MaxResultBytes bounds the results of asynchronous invocations that are kept; 0 means 64 MiB.
	MaxResultBytes int64
	// MaxSerializedBytes bounds the JSON of the documents of a serialization that has to be made in memory:
	// every one but that of everything as JSON; 0 means 64 MiB.
	MaxSerializedBytes int64
	// NoOwnDescriptors lists in the registries only what clients have registered, and not the shells and
	// submodels of the repositories.
	NoOwnDescriptors bool
	// BaseURL is where the server is reached, such as https://plant.example.com, for the addresses in
	// descriptors of its own; empty means the host that a request names.
	BaseURL string
	// AtRoot serves version 3.1 also without a prefix: /shells and so on; see [RootPaths].
	AtRoot bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o *Options) complete() error {
	document := o.MaxBodyBytes
	if document == 0 {
		document = 64 << 20
	}
	for _, n := range []struct {
		field  string
		value  int64
		set    func(int64)
		ifZero int64
	}{
		{"MaxBodyBytes", o.MaxBodyBytes, func(v int64) { o.MaxBodyBytes = v }, 8 << 20},
		{"MaxDocumentBytes", o.MaxDocumentBytes, func(v int64) { o.MaxDocumentBytes = v }, document},
		{"MaxFileBytes", o.MaxFileBytes, func(v int64) { o.MaxFileBytes = v }, 32 << 20},
		{"PageSize", int64(o.PageSize), func(v int64) { o.PageSize = int(v) }, 100},
		{"MaxPageSize", int64(o.MaxPageSize), func(v int64) { o.MaxPageSize = int(v) }, 1000},
		{"MaxInvocations", int64(o.MaxInvocations), func(v int64) { o.MaxInvocations = int(v) }, 1000},
		{"KeepResults", int64(o.KeepResults), func(v int64) { o.KeepResults = time.Duration(v) }, int64(time.Hour)},
		{"MaxResultBytes", o.MaxResultBytes, func(v int64) { o.MaxResultBytes = v }, 64 << 20},
		{"MaxSerializedBytes", o.MaxSerializedBytes, func(v int64) { o.MaxSerializedBytes = v }, 64 << 20},
		{"InvocationTimeout", int64(o.InvocationTimeout), func(v int64) { o.InvocationTimeout = time.Duration(v) }, int64(time.Minute)},
	} {
		if n.value < 0 {
			return fmt.Errorf("aasapi: Options.%s is negative", n.field)
		}
		if n.value == 0 {
			n.set(n.ifZero)
		}
	}
	if o.MaxPageSize > repository.MaxPage {
		return fmt.Errorf("aasapi: Options.MaxPageSize is above %d", repository.MaxPage)
	}
	if o.PageSize > o.MaxPageSize {
		return errors.New("aasapi: Options.PageSize is above MaxPageSize")
	}
	if o.BaseURL = strings.TrimRight(o.BaseURL, "/"); o.BaseURL != "" {
		if u, err := url.Parse(o.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("aasapi: Options.BaseURL must be http://host or https://host")
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// API serves the standard's operations below /api/v3.1 and /api/v3.0, whichever router it is mounted
// on. Safe for concurrent use.
type API struct {
	service       *repository.Service
	opts          Options
	router        chi.Router
	invocations   *invocations
	serializing   chan struct{} // has a place for each serialisation that is in memory
	bulks         *semaphore.Weighted
	argumentBytes *semaphore.Weighted // of the asynchronous invocations that run
}

// maxSerializing is the maximum number of serializations in memory.
const maxSerializing = 2

var prefixes = [...]string{"/api/v3.1", "/api/v3.0"}

// Prefixes are the paths below which an [API] serves.
func Prefixes() []string { return prefixes[:] }

// uploadPath is served at the root in any case.
const uploadPath = "/upload"

// RootPaths returns the first segments of what an [API] serves without a prefix, such as /shells: /upload alone
// unless atRoot is set.
func RootPaths(atRoot bool) []string {
	if !atRoot {
		return []string{uploadPath}
	}
	var list []string
	for _, op := range operations() {
		first, _, _ := strings.Cut(op.pattern[1:], "/")
		if first = "/" + first; !slices.Contains(list, first) {
			list = append(list, first)
		}
	}
	return list
}

// New makes the API of a service. Close it when it serves no more.
func New(service *repository.Service, o Options) (*API, error) {
	if service == nil {
		return nil, errors.New("aasapi: service is required")
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	a := &API{service: service, opts: o, serializing: make(chan struct{}, maxSerializing)}
	a.bulks = semaphore.NewWeighted(bulkBodies * o.MaxBodyBytes)
	a.argumentBytes = semaphore.NewWeighted(argumentBodies * o.MaxBodyBytes)
	a.invocations = newInvocations(o)
	a.router = a.routes()
	return a, nil
}

// Close ends the asynchronous invocations and bulk changes that still run, and waits for them as long as the context
// allows.
func (a *API) Close(ctx context.Context) error { return a.invocations.close(ctx) }

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	prefix, rest := "", ""
	path := r.URL.EscapedPath()
	for _, p := range prefixes {
		if after, ok := strings.CutPrefix(path, p); ok && (after == "" || after[0] == '/') {
			prefix, rest = p, after
		}
	}
	if prefix == "" && (a.opts.AtRoot || path == uploadPath) {
		rest = path
	}
	if rest == "" {
		problem.Write(w, r, problem.ErrNotFound, problem.Result)
		return
	}
	// Many clients encode the $ of a modifier, which means the same.
	rest = strings.ReplaceAll(rest, "%24", "$")
	route := chi.RouteContext(r.Context())
	if route == nil {
		route = chi.NewRouteContext()
		r = r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, route))
	}
	route.RoutePath, route.RouteMethod = rest, http.MethodGet // byMethod looks at the true one
	a.router.ServeHTTP(w, r)
}

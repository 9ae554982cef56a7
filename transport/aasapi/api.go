package aasapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/problem"
)

// Options configures an [API]. The zero value serves everything to everybody.
type Options struct {
	// Guard puts the handler of an operation behind a check of the caller, as [auth.Guard.Handler]
	// does. Nil means no check.
	Guard func(op auth.Operation, h http.Handler) http.Handler
	// MaxBodyBytes limits a JSON body; 0 means 8 MiB.
	MaxBodyBytes int64
	// MaxFileBytes limits an uploaded file; 0 means 32 MiB.
	MaxFileBytes int64
	// PageSize is how many entries a list has when the caller sets no limit, and MaxPageSize the most
	// that it has whatever the caller asks for, up to [aas.MaxPage]; 0 means 100 and 1000.
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
	// MaxSerializedBytes bounds the JSON of the documents of a serialisation that has to be made in memory:
	// every one but that of everything as JSON; 0 means 64 MiB.
	MaxSerializedBytes int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o *Options) complete() error {
	for _, n := range []struct {
		field  string
		value  int64
		set    func(int64)
		ifZero int64
	}{
		{"MaxBodyBytes", o.MaxBodyBytes, func(v int64) { o.MaxBodyBytes = v }, 8 << 20},
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
	if o.MaxPageSize > aas.MaxPage {
		return fmt.Errorf("aasapi: Options.MaxPageSize is above %d", aas.MaxPage)
	}
	if o.PageSize > o.MaxPageSize {
		return errors.New("aasapi: Options.PageSize is above MaxPageSize")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// API serves the standard's operations below /api/v3.1 and /api/v3.0, whichever router it is mounted
// on. Safe for concurrent use.
type API struct {
	service       *aas.Service
	opts          Options
	router        chi.Router
	invocations   *invocations
	serializing   chan struct{} // has a place for each serialisation that is in memory
	bulks         *semaphore.Weighted
	argumentBytes *semaphore.Weighted // of the asynchronous invocations that run
}

// maxSerializing is how many serialisations are in memory at once.
const maxSerializing = 2

var prefixes = [...]string{"/api/v3.1", "/api/v3.0"}

// Prefixes are the paths below which an [API] serves.
func Prefixes() []string { return prefixes[:] }

// New makes the API of a service. Close it when it serves no more.
func New(service *aas.Service, o Options) (*API, error) {
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
	if prefix == "" || rest == "" {
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

package discoveryapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/discoveryapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
	// Caller returns the name of who calls, who may not run all scans that may run at the same time. Default: "anonymous".
	Caller func(ctx context.Context) string
}

// API is the REST API of discovery.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
	end      context.CancelFunc
}

// handlers implements the generated server.
type handlers struct {
	service *discovery.Service
	scans   context.Context // ends when scans must not go on
	caller  func(ctx context.Context) string

	mu      sync.Mutex
	running map[string]int // scans by their caller
}

// maxOwnScans is how many scans of one caller may run at the same time: no more than half of those of the service.
const maxOwnScans = 4

// enter counts a scan of a caller until the function that it returns is called.
func (h *handlers) enter(caller string) (leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[caller] >= maxOwnScans {
		return nil, discovery.ErrScansBusy.Because("at most %d of one account", maxOwnScans)
	}
	h.running[caller]++
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.running[caller]--; h.running[caller] == 0 {
			delete(h.running, caller)
		}
	}, nil
}

var _ gen.StrictServerInterface = (*handlers)(nil)

// New returns the API over service.
func New(service *discovery.Service, o Options) (*API, error) {
	if service == nil {
		return nil, fault.Option("discoveryapi", "service", "is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	if o.Caller == nil {
		o.Caller = restapi.Anonymous
	}
	a := &API{handlers: &handlers{service: service, caller: o.Caller, running: map[string]int{}}, body: o.Body}
	a.handlers.scans, a.end = context.WithCancel(context.Background())
	return a, nil
}

// EndScans ends the scans that run. Call it when the server stops.
func (a *API) EndScans() { a.end() }

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, nil,
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

// ScanBridges implements GET /api/discovery/scan.
func (h *handlers) ScanBridges(ctx context.Context, r gen.ScanBridgesRequestObject) (gen.ScanBridgesResponseObject, error) {
	seconds := restapi.Or(r.Params.TimeoutSeconds, int(discovery.DefaultScan/time.Second))
	if seconds < int(discovery.MinScan/time.Second) || seconds > int(discovery.MaxScan/time.Second) {
		return nil, discovery.ErrInvalid.Invalid(fault.Field{Field: "timeoutSeconds", Message: "must be 1 to 30"})
	}
	leave, err := h.enter(h.caller(ctx))
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.scans, cancel)()
	found, err := h.service.Scan(ctx, time.Duration(seconds)*time.Second, restapi.Or(r.Params.ExcludeBound, true))
	if err != nil {
		if h.scans.Err() != nil {
			err = discovery.ErrClosed
		}
		return nil, err
	}
	answer := make(gen.ScanBridges200JSONResponse, len(found))
	for i := range found {
		answer[i] = infoOf(&found[i])
	}
	return answer, nil
}

// BindBridge implements POST /api/discovery/bind.
func (h *handlers) BindBridge(ctx context.Context, r gen.BindBridgeRequestObject) (gen.BindBridgeResponseObject, error) {
	b, m, err := h.service.Bind(ctx, discovery.BindRequest{BridgeID: r.Body.BridgeID, BridgeURL: r.Body.BridgeURL, Secret: r.Body.BindSecret})
	if err != nil {
		return nil, err
	}
	return gen.BindBridge200JSONResponse{Binding: bindingOf(&b), Manifest: manifestOf(&m)}, nil
}

// UnbindBridge implements DELETE /api/discovery/unbind/{bridgeId}.
func (h *handlers) UnbindBridge(ctx context.Context, r gen.UnbindBridgeRequestObject) (gen.UnbindBridgeResponseObject, error) {
	if err := h.service.Unbind(ctx, r.BridgeID); err != nil {
		return nil, err
	}
	return gen.UnbindBridge204Response{}, nil
}

// ListBindings implements GET /api/discovery/bindings.
func (h *handlers) ListBindings(context.Context, gen.ListBindingsRequestObject) (gen.ListBindingsResponseObject, error) {
	all := h.service.Bindings()
	answer := make(gen.ListBindings200JSONResponse, len(all))
	for i := range all {
		answer[i] = statusOf(&all[i])
	}
	return answer, nil
}

package discoveryapi

import (
	"context"
	"net/http"
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
	a := &API{handlers: &handlers{service: service}, body: o.Body}
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

package aasv1

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/aasv1/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is version 1 of the REST API of asset administration shells.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct{ service *repository.Service }

// New returns the API over service.
func New(service *repository.Service, o Options) (*API, error) {
	if service == nil {
		return nil, errors.New("aasv1: service is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{service}, body: o.Body}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withMethod},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

package alarmsapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/transport/alarmsapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns the name of the account that makes a call. Default: "anonymous".
	Caller func(ctx context.Context) string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of alarms.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct {
	service *alarms.Service
	rules   *rules.Service
	caller  func(ctx context.Context) string
	now     func() time.Time
}

// New returns the API over a service and its rules.
func New(service *alarms.Service, rules *rules.Service, o Options) (*API, error) {
	switch {
	case service == nil:
		return nil, errors.New("alarmsapi: service is required")
	case rules == nil:
		return nil, errors.New("alarmsapi: rules is required")
	}
	if o.Caller == nil {
		o.Caller = restapi.Anonymous
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{service: service, rules: rules, caller: o.Caller, now: o.Now}, body: o.Body}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{restapi.KeepIfMatch[gen.StrictHandlerFunc]},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: parameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

// parameterError writes the error for a parameter that cannot be read. Half a time range is an invalid time range.
func parameterError(w http.ResponseWriter, r *http.Request, err error) {
	f := restapi.FieldOf(err)
	if f.Message == restapi.IsRequired && (f.Field == "start" || f.Field == "end") {
		restapi.Error(w, r, alarms.ErrInvalidTimeRange.Because("start and end are required").Invalid(f).Wrap(err))
		return
	}
	restapi.ParameterError(w, r, err)
}

// Info returns the JSON form that an occurrence has in lists, for hubs.
func Info(o *alarms.Occurrence) any { return infoOf(o) }

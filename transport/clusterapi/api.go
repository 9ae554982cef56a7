package clusterapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/clusterapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Plant has the engines. clusterpart.Engines is one. Safe for concurrent use.
type Plant interface {
	// Report returns how the engines are, as this one knows it.
	Report(ctx context.Context) Report
	// Drain has an engine give its work to the others, or take its share again. It returns cluster.ErrEngineNotFound or cluster.ErrNoOtherEngine.
	Drain(ctx context.Context, engine string, drain bool) error
}

// Report is how the engines of a plant are. The slices are the caller's; the maps may be shared: do not change them.
type Report struct {
	Engines    []Engine
	Unassigned []Unassigned // work that no engine does, by name
	Bus        *bus.Status  // nil if the engine is alone
	Database   error        // why the database does not answer; nil if it does
}

// Engine is an engine of a plant.
type Engine struct {
	cluster.Session
	Self     bool
	Leases   []cluster.Lease // of what it does, by name
	Lag      time.Duration   // since it was seen to renew its session
	ValueLag *time.Duration  // since a driver was heard that it runs, of the one of which least was heard; nil for none
}

// Unassigned is work that no engine does.
type Unassigned struct {
	cluster.Work
	Since time.Time // when this engine first saw it
}

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of the engines.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// New returns the API over the engines of a plant.
func New(plant Plant, o Options) (*API, error) {
	if plant == nil {
		return nil, fault.Option("clusterapi", "plant", "is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{plant}, body: o.Body}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, nil,
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

package tagsapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// History is where the samples of tags are kept. Without it the history of every tag is empty.
	History history.Store
	// Caller returns the name of who calls, for the log of writes. Default: "anonymous".
	Caller func(ctx context.Context) string
	// Live returns a context for a stream, which ends when the caller's token does or the server stops.
	// It has ended already when the caller must not stream; its cause is then the answer. Default: the
	// request's context.
	Live func(ctx context.Context) (context.Context, context.CancelFunc)
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of tags.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct {
	engine  *tags.Engine
	history history.Store
	caller  func(ctx context.Context) string
	live    func(ctx context.Context) (context.Context, context.CancelFunc)
	now     func() time.Time
	waits   *waits

	aggregates, exports lane // an export may last for hours
}

// New returns the API over engine.
func New(engine *tags.Engine, o Options) (*API, error) {
	if engine == nil {
		return nil, errors.New("tagsapi: engine is required")
	}
	if o.Caller == nil {
		o.Caller = restapi.Anonymous
	}
	if o.Live == nil {
		o.Live = context.WithCancel
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{handlers: &handlers{engine: engine, history: o.History, caller: o.Caller, live: o.Live, now: o.Now, waits: newWaits(),
		aggregates: newLane(), exports: newLane()}, body: o.Body}, nil
}

// EndStreams ends the waiting for outcomes of writes, and later ones immediately. Call it when the server stops.
func (a *API) EndStreams() { a.handlers.waits.end() }

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withRequest},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

type requestKey struct{}

// withRequest passes what the generated code omits: the query as sent, headers, and HEAD.
func withRequest(next gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	switch operation {
	case "StreamTags", "GetHistoryAggregates", "ExportHistory":
	default:
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, requestKey{}, r), w, r, request)
	}
}

package alertingapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/transport/alertingapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Deps are what the API serves.
type Deps struct {
	Silences   *silences.Service
	History    *history.Service
	Dispatcher Dispatcher
	// Webhook receives alerts of other systems. Optional: without it they are answered with 404.
	Webhook *alertsource.Receiver
}

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns the name of who calls; false for a call without a token. Default: every call is anonymous.
	Caller func(ctx context.Context) (name string, known bool)
	// Logger logs silences that are added. Default: discards.
	Logger *slog.Logger
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// Dispatcher serves digests, dead letters and channels. *dispatch.Dispatcher is one.
type Dispatcher interface {
	Digest(ctx context.Context, id string, page, pageSize int) (outbox.DigestPage, error)
	DeadLetters(ctx context.Context, channel string, page, pageSize int) (outbox.DeadLetterPage, error)
	Retry(ctx context.Context, id string) error
	RetryAll(ctx context.Context, channel string) (int, error)
	Discard(ctx context.Context, id, by string) error
	DiscardAll(ctx context.Context, channel, by string) (int, error)
	Channels() []alerting.ChannelStatus
	Test(ctx context.Context, channel string) error
}

// API is the REST API of alerting.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
}

// handlers implements the generated server.
type handlers struct {
	silences   *silences.Service
	history    *history.Service
	webhook    *alertsource.Receiver
	dispatcher Dispatcher
	caller     func(ctx context.Context) (string, bool)
	logger     *slog.Logger
}

// New returns the API over d.
func New(d Deps, o Options) (*API, error) {
	for _, dep := range []struct {
		name string
		nil  bool
	}{
		{"Silences", d.Silences == nil}, {"History", d.History == nil}, {"Dispatcher", d.Dispatcher == nil},
	} {
		if dep.nil {
			return nil, errors.New("alertingapi: Deps." + dep.name + " is required")
		}
	}
	if o.Caller == nil {
		o.Caller = func(context.Context) (string, bool) { return "", false }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{body: o.Body, handlers: &handlers{silences: d.Silences, history: d.History, webhook: d.Webhook, dispatcher: d.Dispatcher,
		caller: o.Caller, logger: o.Logger}}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, nil,
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
	r.Method(http.MethodPost, WebhookPath, a.body(http.HandlerFunc(a.handlers.Receive)))
}

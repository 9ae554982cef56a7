package devicesapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/devicesapi/internal/gen"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// MaxWait is the longest Options.CommandWait: servers cut off answers that take longer.
const MaxWait = 50 * time.Second

// ReservedID is no device's id, because its path is that of the stream.
const ReservedID = "stream"

// Options are the options of [New]. The zero value works.
type Options struct {
	// Caller returns the name of who calls, for the journal of commands. Default: "anonymous".
	Caller func(ctx context.Context) string
	// MayReset returns nil for a caller who may reset an emergency stop, and else the answer. Default: nobody may.
	MayReset func(ctx context.Context) error
	// MayReport returns nil for a device that may report over REST, and else the answer. Default: every device may.
	MayReport func(deviceID string) error
	// CommandWait is how long a call waits for the end of a command, at most MaxWait. Default 10 s.
	CommandWait time.Duration
	// Zones are the zones by which commands are judged. Default: none.
	Zones []safety.Zone
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of devices.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
	endWaits context.CancelFunc
}

// handlers implements the generated server.
type handlers struct {
	service   *devices.Service
	caller    func(ctx context.Context) string
	mayReset  func(ctx context.Context) error
	mayReport func(deviceID string) error
	wait      time.Duration
	waits     context.Context // ends when callers must not wait any longer
	zones     []safety.Zone
	now       func() time.Time
}

var _ gen.StrictServerInterface = (*handlers)(nil)

var errMayNotReset = fault.New(fault.Forbidden, "FORBIDDEN", "nobody may reset an emergency stop here")

// New returns the API over service.
func New(service *devices.Service, o Options) (*API, error) {
	switch {
	case service == nil:
		return nil, fault.Option("devicesapi", "service", "is required")
	case o.CommandWait < 0 || o.CommandWait > MaxWait:
		return nil, fault.Option("devicesapi", "Options.CommandWait", "must be 0 to %s, not %s", MaxWait, o.CommandWait)
	}
	if o.Caller == nil {
		o.Caller = restapi.Anonymous
	}
	if o.MayReset == nil {
		o.MayReset = func(context.Context) error { return errMayNotReset }
	}
	if o.MayReport == nil {
		o.MayReport = func(string) error { return nil }
	}
	if o.CommandWait == 0 {
		o.CommandWait = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	h := &handlers{service: service, caller: o.Caller, mayReset: o.MayReset, mayReport: o.MayReport, wait: o.CommandWait, zones: o.Zones, now: o.Now}
	a := &API{handlers: h, body: o.Body}
	h.waits, a.endWaits = context.WithCancel(context.Background())
	return a, nil
}

// EndWaits answers callers who wait for the end of a command with what is known of it, and later ones immediately. The
// commands go on. Call it when the server stops.
func (a *API) EndWaits() { a.endWaits() }

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withMethod},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: restapi.Error})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

type methodKey struct{}

// withMethod passes the stream what the generated code omits: whether only the head of the answer is asked for.
func withMethod(next gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	if operation != "StreamDevices" {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, methodKey{}, r.Method), w, r, request)
	}
}

package predictiveapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/limit"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
	"github.com/otkit/otkit/transport/problem"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// MaxBody is the size of the largest CSV file that is read, in bytes. Default: 8 MiB.
	MaxBody int64
	// MaxRows is how many rows a CSV file may have. Default: 100,000.
	MaxRows int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID makes the ids of records that come without one, and of streams. Default: random UUIDs.
	NewID func() string
	// Known reports whether the caller of a request is known. Others wait apart for predictions. Default: none is known.
	Known func(context.Context) bool
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of predictive maintenance.
type API struct {
	handlers *handlers
	body     func(http.Handler) http.Handler
	end      context.CancelFunc
}

// handlers implements the generated server.
type handlers struct {
	service      *predictive.Service
	failures     recordKind[predictive.Failure]
	replacements recordKind[predictive.Replacement]
	trainings    *limit.Rate // by address
	board        *board
	waiters      chan struct{} // has room for those who may wait
	predictions  *gate
	anomalies    *gate
	qualities    *gate
	components   *gate
	ending       context.Context // ends when callers must not wait any longer
}

var _ gen.StrictServerInterface = (*handlers)(nil)

const pkg = "predictiveapi"

// New returns the API over a service and the records that it learns from. Pass the service's changes of jobs to [API.OnJob].
func New(service *predictive.Service, records predictive.RecordStore, o Options) (*API, error) {
	switch {
	case service == nil:
		return nil, fault.Option(pkg, "service", "is required")
	case records == nil:
		return nil, fault.Option(pkg, "records", "is required")
	case o.MaxBody < 0:
		return nil, fault.Option(pkg, "Options.MaxBody", "must be 0 or more, not %d", o.MaxBody)
	case o.MaxRows < 0:
		return nil, fault.Option(pkg, "Options.MaxRows", "must be 0 or more, not %d", o.MaxRows)
	}
	if o.MaxBody == 0 {
		o.MaxBody = 8 << 20
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Known == nil {
		o.Known = func(context.Context) bool { return false }
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	jobs, err := service.Jobs(context.Background())
	if err != nil {
		return nil, err
	}
	h := &handlers{service: service, failures: failuresOf(records, service.Equipments, o), replacements: replacementsOf(records, service.Equipments, o),
		trainings: limit.NewInterval(time.Minute, 10, o.Now), board: newBoard(o.NewID(), jobs), waiters: make(chan struct{}, maxWaiters),
		predictions: newGate(o.Known), anomalies: newGate(o.Known), qualities: newGate(o.Known), components: newGate(o.Known)}
	a := &API{handlers: h, body: o.Body}
	h.ending, a.end = context.WithCancel(context.Background())
	return a, nil
}

// OnJob takes a change of a job for the stream. It never blocks. See [predictive.Options].OnJob.
func (a *API) OnJob(j predictive.Job) { a.handlers.board.put(j) }

// EndStreams ends streams, exports, and the waiting for trainings, and later ones immediately. The trainings continue. Call it when
// the server stops.
func (a *API) EndStreams() { a.end() }

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	server := gen.NewStrictHandlerWithOptions(a.handlers, []gen.StrictMiddlewareFunc{withRequest},
		gen.StrictHTTPServerOptions{RequestErrorHandlerFunc: restapi.DecodeError, ResponseErrorHandlerFunc: answerError})
	gen.HandlerWithOptions(server, gen.ChiServerOptions{BaseRouter: r, ErrorHandlerFunc: restapi.ParameterError,
		Middlewares: []gen.MiddlewareFunc{a.body}})
}

// answerError answers a request with err. The domain may have wrapped the end of the request as a failure of its own.
func answerError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		err = problem.ErrCanceled.Wrap(err)
	}
	restapi.Error(w, r, err)
}

type requestKey struct{}

// withRequest passes handlers what the generated code omits.
func withRequest(next gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		ctx = context.WithValue(ctx, requestKey{}, r)
		switch operation {
		case "ListFailures", "ListReplacements":
			w.Header().Add("Vary", "Accept")
		case "RetrainModel":
			return retrain(ctx, next, w, r, request)
		}
		return next(ctx, w, r, request)
	}
}

// retrain lifts the time limits of an answer that waits for a training.
func retrain(ctx context.Context, next gen.StrictHandlerFunc, w http.ResponseWriter, r *http.Request, request any) (any, error) {
	if err := restapi.Stream(w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	defer func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) }()
	return next(ctx, w, r, request)
}

func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

// maxWaiters bounds the calls that wait for trainings or exports: they take as long as these, and some need no token.
const maxWaiters = 200

var errWaiters = fault.New(fault.Unavailable, "TOO_MANY_WAITING", "too many callers wait; start a training with POST jobs instead").With("retryAfter", "10")

// wait is [handlers.waiting] for a call of which only so many may wait.
func (h *handlers) wait(ctx context.Context) (context.Context, func(), error) {
	select {
	case h.waiters <- struct{}{}:
	default:
		return nil, nil, errWaiters
	}
	ctx, done := h.waiting(ctx)
	return ctx, func() { done(); <-h.waiters }, nil
}

var errStopping = fault.New(fault.Unavailable, "SERVER_STOPPING", "the server is stopping")

// waiting returns a context that ends when a call must be answered.
func (h *handlers) waiting(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if h.ending.Err() != nil {
		cancel(errStopping)
	}
	stop := context.AfterFunc(h.ending, func() { cancel(errStopping) })
	return ctx, func() { stop(); cancel(nil) }
}

// causeOf returns why ctx has ended instead of err, if it has.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// required returns an error for the first parameter that is blank. The arguments are names and values.
func required(parameters ...string) error {
	for i := 0; i < len(parameters); i += 2 {
		if isBlank(parameters[i+1]) {
			return restapi.Required(parameters[i])
		}
	}
	return nil
}

package predictiveapi

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// MayTrain returns nil for a caller who may start a training now, and else the answer. It is not asked while a training of the
	// type runs, which callers share. Default: everybody may.
	MayTrain func(ctx context.Context) error
	// MaxBody is the size of the largest CSV file that is read, in bytes. Default: 8 MiB.
	MaxBody int64
	// MaxRows is how many rows a CSV file may have. Default: 100,000.
	MaxRows int
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// NewID makes the ids of records that come without one. Default: random UUIDs.
	NewID func() string
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
	service  *predictive.Service
	records  predictive.RecordStore
	mayTrain func(ctx context.Context) error
	maxBody  int64
	maxRows  int
	now      func() time.Time
	newID    func() string
	ending   context.Context // ends when callers must not wait any longer
}

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
	if o.MayTrain == nil {
		o.MayTrain = func(context.Context) error { return nil }
	}
	if o.MaxBody == 0 {
		o.MaxBody = 8 << 20
	}
	if o.MaxRows == 0 {
		o.MaxRows = 100_000
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	h := &handlers{service: service, records: records, mayTrain: o.MayTrain, maxBody: o.MaxBody, maxRows: o.MaxRows, now: o.Now, newID: o.NewID}
	a := &API{handlers: h, body: o.Body}
	h.ending, a.end = context.WithCancel(context.Background())
	return a, nil
}

// OnJob takes a change of a job for the stream. It never blocks. See [predictive.Options].OnJob.
func (a *API) OnJob(predictive.Job) {}

// EndStreams ends streams, exports, and the waiting for trainings, and later ones immediately. The trainings continue. Call it when
// the server stops.
func (a *API) EndStreams() { a.end() }

// Mount registers the routes.
func (a *API) Mount(chi.Router) {}

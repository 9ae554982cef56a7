package aasv1

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/aasapi/aasv1/internal/gen"
	"github.com/otkit/otkit/transport/aasapi/internal/ifmatch"
	"github.com/otkit/otkit/transport/internal/restapi"
)

const (
	keepAlive  = 15 * time.Second // how often a stream that has nothing to send sends a comment line
	writeLimit = 30 * time.Second // for one event; a client that takes nothing for so long is gone
)

// StreamSubmodelValues implements GET /api/v1/submodels/{id}/values/stream.
func (a *handlers) StreamSubmodelValues(ctx context.Context, r gen.StreamSubmodelValuesRequestObject) (gen.StreamSubmodelValuesResponseObject, error) {
	throttle := restapi.Or(r.Params.ThrottleMs, 100)
	if throttle < 0 || throttle > int(time.Hour/time.Millisecond) {
		return nil, aas.ErrInvalidRequest.Invalid(fault.Field{Field: "throttleMs", Message: "must be 0 to 3600000"})
	}
	watch, err := a.service.WatchValues(ctx, r.ID, repository.WatchOptions{Throttle: time.Duration(throttle) * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return &valueStream{ctx: ctx, watch: watch, head: ctx.Value(methodKey{}) == http.MethodHead}, nil
}

type methodKey struct{}

// withMethod passes the stream what the generated code omits: whether only the head of the answer is asked for.
func withMethod(next gen.StrictHandlerFunc, operation string) gen.StrictHandlerFunc {
	if operation != "StreamSubmodelValues" {
		return next
	}
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
		return next(context.WithValue(ctx, methodKey{}, r.Method), w, r, request)
	}
}

// valueStream writes live values as server-sent events until the client leaves, the caller's token ends, the submodel is
// removed or the server stops.
type valueStream struct {
	ctx   context.Context
	watch *repository.ValueWatch
	head  bool // only the head of the answer is wanted
}

// VisitStreamSubmodelValuesResponse implements gen.StreamSubmodelValuesResponseObject.
func (s *valueStream) VisitStreamSubmodelValuesResponse(w http.ResponseWriter) error {
	defer s.watch.Close()
	if err := context.Cause(s.ctx); err != nil { // refused, and there is no answer yet
		return err
	}
	// A writer that cannot lift the server's time limits has none.
	if err := restapi.Stream(w); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // or a proxy would gather events
	w.WriteHeader(http.StatusOK)
	// It ends when nothing more can be sent; the status line was sent long ago.
	for !s.head && s.event(w, out) == nil {
	}
	return nil
}

// event waits for something to send and sends it.
func (s *valueStream) event(w http.ResponseWriter, out *http.ResponseController) error {
	text, err := s.next()
	if err != nil {
		return err
	}
	_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := w.Write(text); err != nil {
		return err
	}
	return out.Flush()
}

var errQuiet = errors.New("nothing has changed")

// next returns the next event, or a comment line when it is time to show that the stream lives.
func (s *valueStream) next() ([]byte, error) {
	wait, cancel := context.WithTimeoutCause(s.ctx, keepAlive, errQuiet)
	defer cancel()
	changes, err := s.watch.Next(wait)
	switch {
	case err == nil:
	case s.ctx.Err() == nil && errors.Is(context.Cause(wait), errQuiet):
		return []byte(": alive\n\n"), nil
	default:
		return nil, err
	}
	data, err := json.Marshal(valuesOf(changes))
	return append(append([]byte("event: change\ndata: "), data...), "\n\n"...), err
}

func valuesOf(c repository.ValueChanges) gen.SubmodelValues {
	values := make([]gen.LiveProperty, len(c.Values)) // an empty list is no null
	for i, v := range c.Values {
		values[i] = gen.LiveProperty{Path: v.Path, TagName: v.Tag, Value: v.Value, Quality: gen.Quality(v.Quality), QualityReason: v.Reason, Timestamp: v.At}
	}
	return gen.SubmodelValues{Etag: ifmatch.Tag(c.Version), Complete: c.Complete, Values: values}
}

package predictiveapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
)

const (
	keepAlive  = 15 * time.Second // how often a stream that has nothing to send sends a comment line
	writeLimit = 30 * time.Second // for one event; a client that takes nothing for so long is gone
)

// StreamTrainingJobs implements GET .../jobs/stream.
func (h *handlers) StreamTrainingJobs(ctx context.Context, r gen.StreamTrainingJobsRequestObject) (gen.StreamTrainingJobsResponseObject, error) {
	throttle := restapi.Or(r.Params.ThrottleMs, 100)
	if throttle < 0 || throttle > int(time.Hour/time.Millisecond) {
		return nil, predictive.ErrInvalidRequest.Invalid(fault.Field{Field: "throttleMs", Message: "must be 0 to 3600000"})
	}
	s := &stream{ctx: ctx, h: h, throttle: time.Duration(throttle) * time.Millisecond, head: requestOf(ctx).Method == http.MethodHead}
	s.position, s.resumed = h.board.parse(r.Params.LastEventID)
	return s, nil
}

// stream writes changes of jobs as server-sent events until the client leaves, the caller's token ends or the server stops.
type stream struct {
	ctx      context.Context
	h        *handlers
	throttle time.Duration
	head     bool // only the head of the answer is wanted

	position uint64 // up to which changes were sent
	resumed  bool   // an event was sent, by this stream or the one before it
	sent     time.Time
}

// VisitStreamTrainingJobsResponse implements gen.StreamTrainingJobsResponseObject.
func (s *stream) VisitStreamTrainingJobsResponse(w http.ResponseWriter) error {
	ctx, cancel := s.h.waiting(s.ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil { // refused, and there is no answer yet
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
	if s.head {
		return nil
	}
	// The first event may be long in coming. A line is written, because a writer that compresses sends no head without.
	if _, err := w.Write([]byte(": open\n\n")); err != nil {
		return nil //nolint:nilerr // the client has gone
	}
	if err := out.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil //nolint:nilerr // the client has gone
	}
	// It ends when the client leaves, the token ends or the server stops; the status line was sent long ago.
	for s.event(ctx, w, out) == nil {
	}
	return nil
}

// event waits for something to send and sends it.
func (s *stream) event(ctx context.Context, w http.ResponseWriter, out *http.ResponseController) error {
	text, err := s.next(ctx)
	if err != nil {
		return err
	}
	_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := w.Write(text); err != nil {
		return err
	}
	return out.Flush()
}

// next returns the next event, or a comment line when it is time to show that the stream lives.
func (s *stream) next(ctx context.Context) ([]byte, error) {
	quiet := time.After(keepAlive)
	if err := pause(ctx, s.throttle-time.Since(s.sent)); err != nil {
		return nil, err
	}
	for {
		jobs, now, changed := s.h.board.since(s.position)
		if len(jobs) > 0 || !s.resumed {
			if s.resumed { // the first event is outside of the throttle
				s.sent = time.Now()
			}
			s.position, s.resumed = now, true
			data, err := json.Marshal(gen.TrainingJobs{Jobs: jobsOf(jobs)})
			return fmt.Appendf(nil, "id: %s\nevent: change\ndata: %s\n\n", s.h.board.eventID(now), data), err
		}
		select {
		case <-changed:
		case <-quiet:
			return []byte(": alive\n\n"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

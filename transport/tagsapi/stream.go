package tagsapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/tagsapi/internal/gen"
)

// keepAlive is how often a stream that has nothing to say sends a comment line.
const keepAlive = 15 * time.Second

// StreamTags implements GET /api/v1/tags/stream.
func (t *handlers) StreamTags(ctx context.Context, r gen.StreamTagsRequestObject) (gen.StreamTagsResponseObject, error) {
	throttle := 100 * time.Millisecond
	if r.Params.ThrottleMs != nil {
		if *r.Params.ThrottleMs > int(time.Hour/time.Millisecond) {
			return nil, tags.ErrInvalidRequest.Invalid(fault.Field{Field: "throttleMs", Message: "must be at most 3600000"})
		}
		throttle = time.Duration(*r.Params.ThrottleMs) * time.Millisecond
	}
	names, patterns, head := r.Params.TagNames, r.Params.Patterns, false
	if sent, ok := ctx.Value(requestKey{}).(*http.Request); ok {
		names, patterns = t.namesIn(sent.URL.RawQuery), patternsIn(sent.URL.Query().Get("patterns"))
		head = sent.Method == http.MethodHead
	}
	if len(names) == 0 && len(patterns) == 0 {
		return nil, restapi.Required("tagNames or patterns")
	}
	sub, err := t.engine.Subscribe(tags.SubscribeOptions{Names: names, Patterns: patterns, Throttle: throttle, Deadband: r.Params.Deadband})
	if err != nil {
		return nil, err
	}
	return &tagStream{ctx: ctx, live: t.live, sub: sub, head: head}, nil
}

// namesIn reads the query member tagNames. A plain comma separates two names. An encoded one belongs
// to the name, when there is a tag of that name; else it separates too, because many clients encode
// the list as a whole.
func (t *handlers) namesIn(query string) (names []string) {
	for member := range strings.SplitSeq(query, "&") {
		list, ok := strings.CutPrefix(member, "tagNames=")
		if !ok {
			continue
		}
		for item := range strings.SplitSeq(list, ",") {
			name, err := url.QueryUnescape(item)
			if err != nil {
				continue // as net/url does; the parameter was checked before
			}
			if _, err := t.engine.Read(name); err != nil && strings.Contains(name, ",") {
				names = append(names, strings.Split(name, ",")...)
			} else {
				names = append(names, name)
			}
		}
	}
	return names
}

// patternsIn separates LIKE patterns at the commas that no backslash takes as they are.
func patternsIn(list string) (patterns []string) {
	if list == "" {
		return nil
	}
	start, escaped := 0, false
	for i := range len(list) {
		switch {
		case escaped:
			escaped = false
		case list[i] == '\\':
			escaped = true
		case list[i] == ',':
			patterns = append(patterns, list[start:i])
			start = i + 1
		}
	}
	return append(patterns, list[start:])
}

// writeLimit is how long writing one event may take.
const writeLimit = 30 * time.Second

// tagStream writes a subscription as server-sent events until the client leaves, the caller's token
// ends or the engine stops.
type tagStream struct {
	ctx  context.Context
	live func(context.Context) (context.Context, context.CancelFunc)
	sub  *tags.Subscription
	head bool // only the head of the answer is wanted
}

// VisitStreamTagsResponse implements gen.StreamTagsResponseObject.
func (s *tagStream) VisitStreamTagsResponse(w http.ResponseWriter) error {
	defer s.sub.Close()
	ctx, cancel := s.live(s.ctx)
	defer cancel()
	if err := context.Cause(ctx); err != nil { // refused, and there is no answer yet
		return err
	}
	// The server's time limits are for answers, and a stream has no end. A writer that cannot lift
	// them has none.
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
	for {
		changes, err := s.next(ctx)
		// A client that takes nothing for so long is gone, or as good as gone.
		_ = out.SetWriteDeadline(time.Now().Add(writeLimit))
		switch {
		case errors.Is(err, errQuiet):
			_, err = w.Write([]byte(": alive\n\n"))
		case err != nil:
			return nil // the client left, the token ended or the engine stops: the stream just ends
		default:
			err = s.send(w, changes)
		}
		if err != nil {
			return nil // the client has gone; the status line was sent long ago
		}
		if err := out.Flush(); err != nil {
			return nil
		}
	}
}

var errQuiet = errors.New("nothing has changed")

func (s *tagStream) next(ctx context.Context) ([]tags.Change, error) {
	wait, cancel := context.WithTimeoutCause(ctx, keepAlive, errQuiet)
	defer cancel()
	changes, err := s.sub.Next(wait, 0)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(wait), errQuiet) {
		return nil, errQuiet
	}
	return changes, err
}

func (s *tagStream) send(w http.ResponseWriter, changes []tags.Change) error {
	event := gen.TagChanges{Changes: make([]gen.TagChange, len(changes))}
	for i, c := range changes {
		event.Changes[i] = gen.TagChange{TagName: c.Tag.Name, NewValue: c.Value, Timestamp: c.Time().UTC(),
			Quality: gen.Quality(c.Quality.String()), QualityReason: c.Reason.String()}
	}
	data, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_, err = w.Write(append(append([]byte("event: change\ndata: "), data...), "\n\n"...))
	return err
}

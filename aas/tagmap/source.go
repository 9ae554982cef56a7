package tagmap

import (
	"context"
	"errors"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"time"
)

// ErrWriteFailed means that the device did not accept a value.
var ErrWriteFailed = fault.New(fault.BadGateway, "WRITE_FAILED", "the device has not taken the value")

// SourceOptions configure a [Source]. The zero value works.
type SourceOptions struct {
	// By returns the writer's name for the log of writes. Default: "aas".
	By func(ctx context.Context) string
	// WriteTimeout is how long a write waits for its outcome, after which it counts as taken while it is still
	// queued. 0 to 1 minute; 0 means 5 s.
	WriteTimeout time.Duration
}

// Source returns the values of a tag engine to live elements and writes to it. It is an
// [repository.ValueSource]. Safe for concurrent use.
type Source struct {
	engine *tags.Engine
	o      SourceOptions
}

// NewSource makes a source over an engine.
func NewSource(engine *tags.Engine, o SourceOptions) (*Source, error) {
	if engine == nil {
		return nil, errors.New("tagmap: a Source needs an engine")
	}
	if o.By == nil {
		o.By = func(context.Context) string { return "aas" }
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 5 * time.Second
	}
	if o.WriteTimeout < 0 || o.WriteTimeout > time.Minute {
		return nil, errors.New("tagmap: SourceOptions.WriteTimeout must be 0 to 1 minute")
	}
	return &Source{engine: engine, o: o}, nil
}

// Values returns the last known value of each tag, one of bad quality too: a submodel has no place for
// qualities, and [tags.Engine.Read] tells them.
func (s *Source) Values(_ context.Context, names []string) ([]repository.LiveValue, error) {
	list := make([]repository.LiveValue, len(names))
	for i, name := range names {
		snapshot, err := s.engine.Read(name)
		switch {
		case errors.Is(err, tags.ErrTagNotFound):
		case err != nil:
			return nil, err
		default:
			list[i] = liveValue(&snapshot.Sample)
		}
	}
	return list, nil
}

func liveValue(s *tags.Sample) repository.LiveValue {
	v := repository.LiveValue{Known: true, Empty: s.Value.IsZero(), Quality: s.Quality.String(), Reason: s.Reason.String(), At: s.SourceTime.UTC()}
	if !v.Empty {
		v.Value = s.Value.String()
	}
	return v
}

// Notify implements [repository.ValueNotifier].
func (s *Source) Notify(names []string) (repository.ValueNotices, error) {
	for { // again if a tag was removed meanwhile
		known := make([]string, 0, len(names))
		for _, name := range names {
			if _, err := s.engine.Read(name); !errors.Is(err, tags.ErrTagNotFound) {
				known = append(known, name)
			}
		}
		if len(known) == 0 {
			return noNotices{}, nil
		}
		sub, err := s.engine.Subscribe(tags.SubscribeOptions{Names: known})
		if err == nil {
			return notices{sub}, nil
		}
		if !errors.Is(err, tags.ErrTagNotFound) {
			return nil, err
		}
	}
}

// notices are the changes of tags.
type notices struct{ sub *tags.Subscription }

// Next implements [repository.ValueNotices].
func (n notices) Next(ctx context.Context) ([]string, error) {
	changes, err := n.sub.Next(ctx, 0)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(changes))
	for i := range changes {
		names[i] = changes[i].Tag.Name
	}
	return names, nil
}

// Close implements [repository.ValueNotices].
func (n notices) Close() { n.sub.Close() }

// noNotices are those of no tag.
type noNotices struct{}

// Next implements [repository.ValueNotices].
func (noNotices) Next(ctx context.Context) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Close implements [repository.ValueNotices].
func (noNotices) Close() {}

// Write writes a tag and waits for the outcome. Its errors are those of [tags.Engine.Write] and
// [ErrWriteFailed]; [tags.ErrUncertain] is among the causes when the device may have taken the value.
func (s *Source) Write(ctx context.Context, name, value string) error {
	w, err := s.engine.Write(ctx, tags.WriteRequest{Tag: name, Text: value, By: s.o.By(ctx)})
	if err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, s.o.WriteTimeout)
	defer cancel()
	if w, err = s.engine.AwaitWrite(waiting, w.ID); err != nil { // if time is up, it is queued, and will be written
		return err
	}
	switch w.State {
	case tags.WriteFailed:
		return ErrWriteFailed.On("tagName", name).With("writeId", w.ID)
	case tags.WriteUnknown:
		return ErrWriteFailed.Because("it is not known whether the device has taken the value").On("tagName", name).
			With("writeId", w.ID).Wrap(tags.ErrUncertain)
	}
	return nil
}

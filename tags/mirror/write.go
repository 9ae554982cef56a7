package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// writeTimeout bounds how long the engine that runs a driver may take to accept writes.
const writeTimeout = 10 * time.Second

// passed are writes that are passed on, with the last message that the engine has heard of the driver.
type passed struct {
	Driver     string
	Epoch, Seq uint64
	Requests   []tags.WriteRequest
}

// maxLate is how many reports on a driver an engine may have missed that writes to it. A request that a broker, a network or a queue held up for longer would
// be carried out when nobody expects it any more. It cannot tell by a clock: those of two engines differ.
const maxLate = 5

// answer is what the engine that runs a driver says to requests.
type answer struct {
	Writes []tags.Write
	Errs   []*failure
	Err    *failure // of all
}

// failure is an error on the bus.
type failure struct {
	Kind     fault.Kind
	Code     string
	Message  string
	Fields   []fault.Field     `json:",omitempty"`
	Metadata map[string]string `json:",omitempty"`

	Elsewhere bool `json:",omitempty"` // the engine that answers does not run the driver now
}

// elsewhere is the error of a write that an engine has not taken because it does not run the driver.
type elsewhere struct{ error }

func (e elsewhere) Unwrap() error { return e.error }

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f, ok := fault.From(err)
	if !ok {
		return &failure{Kind: fault.Internal, Code: "INTERNAL", Message: err.Error()}
	}
	return &failure{Kind: f.Kind, Code: f.Code, Message: f.Message, Fields: f.Fields, Metadata: f.Metadata, Elsewhere: tags.RunsElsewhere(err)}
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	err := &fault.Error{Kind: f.Kind, Code: f.Code, Message: f.Message, Fields: f.Fields, Metadata: f.Metadata}
	if f.Elsewhere {
		return elsewhere{err}
	}
	return err
}

// Write passes writes on to the engine that runs a driver. It is for [tags.Shared.Write]. If nothing was sent, the error is a tags.ErrDriverOffline; another one means that the
// requests may have been accepted.
func (m *Mirror) Write(ctx context.Context, driver string, requests []tags.WriteRequest) (writes []tags.Write, errs []error, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	moving, stop := context.WithTimeout(ctx, moveTimeout)
	defer stop()
	for {
		engine, ok := m.awaitOwner(moving, driver)
		if !ok {
			return nil, nil, tags.ErrDriverOffline.On("driverId", driver).Because("no engine runs it")
		}
		writes, errs, err = m.send(ctx, engine, driver, requests)
		// Whoever is known to run it may have given it away, or not have begun.
		if err != nil || !allElsewhere(errs) || !look(moving) {
			return writes, errs, err
		}
	}
}

// allElsewhere reports whether none of some writes was taken, because the engine does not run the driver.
func allElsewhere(errs []error) bool {
	for _, err := range errs {
		if e := (elsewhere{}); !errors.As(err, &e) {
			return false
		}
	}
	return len(errs) > 0
}

// How long a write waits for a driver that moves, and how often it looks.
const (
	moveTimeout = 2 * time.Second
	moveLook    = 20 * time.Millisecond
)

// look waits until it is time to look again who runs a driver. It returns false if ctx ends.
func look(ctx context.Context) bool {
	select {
	case <-time.After(moveLook):
		return true
	case <-ctx.Done():
		return false
	}
}

// awaitOwner returns the engine that runs a driver. It waits if none does: the driver may be on its way.
func (m *Mirror) awaitOwner(ctx context.Context, driver string) (engine string, ok bool) {
	for {
		if engine, ok = m.opts.Owner(driver); ok || !look(ctx) {
			return engine, ok
		}
	}
}

func (m *Mirror) send(ctx context.Context, engine, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
	text, err := json.Marshal(m.passing(driver, requests))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > bus.MaxMessage/2 && len(requests) > 1 { // the answer has about the same size
		return m.sendHalves(ctx, engine, driver, requests)
	}
	text, err = m.bus.Request(ctx, subjectWrite+token(engine), text)
	switch {
	case errors.Is(err, bus.ErrTooLarge):
		return nil, nil, tags.ErrInvalidValue.Because("it is too large for the engine that runs the driver").With("driverId", driver)
	case errors.Is(err, bus.ErrDown), errors.Is(err, bus.ErrClosed):
		return nil, nil, tags.ErrDriverOffline.On("driverId", driver).Because("the engine that runs it cannot be reached").Wrap(err)
	case err != nil:
		return nil, nil, errors.New("engine " + engine + ": " + err.Error()) // without the fault: what became of the writes is not known
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, nil, fmt.Errorf("engine %s: %w", engine, err)
	}
	if a.Err != nil {
		return nil, nil, a.Err.err()
	}
	errs := make([]error, len(a.Errs))
	for i, f := range a.Errs {
		errs[i] = f.err()
	}
	return a.Writes, errs, nil
}

func (m *Mirror) passing(driver string, requests []tags.WriteRequest) passed {
	p := passed{Driver: driver, Requests: requests}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.heard[driver]; s != nil {
		p.Epoch, p.Seq = s.epoch, s.seq
	}
	return p
}

// late reports whether a request was made by an engine that had heard too little of a driver that is run here.
func (m *Mirror) late(q *passed) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.owned[q.Driver]
	switch {
	case p == nil:
		return false // it is run elsewhere
	case q.Epoch < p.epoch:
		return time.Since(p.begun) >= maxLate*m.opts.Heartbeat
	}
	return q.Seq < p.seqs[0]
}

// sendHalves sends what is too much for a message. A half that fails does not undo the other.
func (m *Mirror) sendHalves(ctx context.Context, engine, driver string, requests []tags.WriteRequest) (writes []tags.Write, errs []error, err error) {
	half := len(requests) / 2
	for _, part := range [][]tags.WriteRequest{requests[:half], requests[half:]} {
		w, e, err := m.send(ctx, engine, driver, part)
		if err != nil {
			w, e = make([]tags.Write, len(part)), make([]error, len(part))
			for i := range e {
				e[i] = unanswered(err, part[i].ID)
			}
		}
		writes, errs = append(writes, w...), append(errs, e...)
	}
	return writes, errs, nil
}

func unanswered(err error, id string) error {
	if _, ok := fault.From(err); ok {
		return err
	}
	return tags.ErrWriteUnanswered.On("writeId", id).Wrap(err)
}

// serveWrites accepts writes that another engine passes on.
func (m *Mirror) serveWrites(ctx context.Context, data []byte) []byte {
	var q passed
	var a answer
	err := json.Unmarshal(data, &q)
	switch {
	case err != nil:
	case m.late(&q):
		a.Writes, a.Errs = make([]tags.Write, len(q.Requests)), make([]*failure, len(q.Requests))
		for i := range a.Errs { // an engine that has just started waits until it has heard of the driver
			a.Errs[i] = failureOf(tags.ErrDriverOffline.On("driverId", q.Driver).Because("the request came too late"))
			a.Errs[i].Elsewhere = true
		}
	default:
		var errs []error
		if a.Writes, errs, err = m.engine.WriteHere(ctx, q.Requests); err == nil {
			a.Errs = make([]*failure, len(errs))
			for i, e := range errs {
				a.Errs[i] = failureOf(e)
			}
		}
	}
	a.Err = failureOf(err)
	text, err := json.Marshal(a)
	if err != nil {
		m.opts.Logger.Error("answer to writes of another engine cannot be encoded", "error", err)
	}
	return text
}

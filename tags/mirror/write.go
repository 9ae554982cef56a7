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
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f, ok := fault.From(err)
	if !ok {
		return &failure{Kind: fault.Internal, Code: "INTERNAL", Message: err.Error()}
	}
	return &failure{f.Kind, f.Code, f.Message, f.Fields, f.Metadata}
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return &fault.Error{Kind: f.Kind, Code: f.Code, Message: f.Message, Fields: f.Fields, Metadata: f.Metadata}
}

// Write passes writes on to the engine that runs a driver. It is for [tags.Shared.Write]. If nothing was sent, the error is a tags.ErrDriverOffline; another one means that the
// requests may have been accepted.
func (m *Mirror) Write(ctx context.Context, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	engine, ok := m.awaitOwner(ctx, driver)
	if !ok {
		return nil, nil, tags.ErrDriverOffline.On("driverId", driver).Because("no engine runs it")
	}
	return m.send(ctx, engine, driver, requests)
}

// How long a write waits for a driver that moves, and how often it looks.
const (
	moveTimeout = 2 * time.Second
	moveLook    = 20 * time.Millisecond
)

// awaitOwner returns the engine that runs a driver. It waits a moment if none does: the driver may be on its way.
func (m *Mirror) awaitOwner(ctx context.Context, driver string) (engine string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	for {
		if engine, ok = m.opts.Owner(driver); ok {
			return engine, true
		}
		select {
		case <-time.After(moveLook):
		case <-ctx.Done():
			return "", false
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

// current returns an error if a request was made by an engine that had heard too little of the driver, if it is run here.
func (m *Mirror) current(q *passed) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.owned[q.Driver]
	if p == nil || q.Epoch >= p.epoch && q.Seq >= p.seqs[0] || q.Epoch < p.epoch && time.Since(p.begun) < maxLate*m.opts.Heartbeat {
		return nil
	}
	return tags.ErrDriverOffline.On("driverId", q.Driver).Because("the request came too late").With("moving", "true")
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
	if err == nil {
		err = m.current(&q)
	}
	if err == nil {
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

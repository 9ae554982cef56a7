package devices

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

// grace is how long an executor may take to return after its context has ended.
const grace = 5 * time.Second

// storeTimeout is how long a call of the store may take, and storeGrace how long after the service has ended.
const (
	storeTimeout = 30 * time.Second
	storeGrace   = grace + 2*time.Second
)

// outcome is what an executor returns.
type outcome struct {
	data map[string]any
	err  error
}

// run carries out a command that has the device, journals its outcome and gives the device to the next one.
func (s *control) run(j *job) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout)
	defer stop()
	begun, begins := s.confirm(j, cancel)
	if !begins {
		s.journal(begun)
		s.leave(j, begun, false)
		return
	}
	returned := make(chan outcome, 1)
	go func() { returned <- s.execute(ctx, j, begun) }()
	var o outcome
	late := false
	select {
	case o = <-returned:
	case <-ctx.Done():
		select {
		case o = <-returned:
		case <-time.After(grace):
			o, late = outcome{err: context.Cause(ctx)}, true
		}
	}
	if late {
		o.err = fmt.Errorf("%w: %w", o.err, ErrUnknownOutcome)
	}
	r := s.classify(ctx, j, o)
	s.journal(r)
	if !late {
		s.leave(j, r, r.Phase.unsure())
		return
	}
	s.tell(j, r)
	<-returned // the executor still has the device: it gets no other order until it returns
	s.release(j, r, true)
	s.finish(j)
}

var (
	errTimeout  = errors.New("the device did not report an end in time")
	errCanceled = errors.New("canceled")
)

// execute lets the executor carry out a command. An executor that panics has failed.
func (s *control) execute(ctx context.Context, j *job, record Record) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Logger.Error("executor panicked", "device", record.DeviceID, "command", record.ID, "panic", fmt.Sprint(r))
			o = outcome{err: fmt.Errorf("the executor failed: %w", ErrUnknownOutcome)}
		}
	}()
	if ctx.Err() != nil { // canceled before it was begun
		return outcome{err: context.Cause(ctx)}
	}
	if record.Type == ResetEmergencyStop {
		return outcome{err: s.reset(ctx, j)}
	}
	executor := s.opts.Executor(record.DeviceID)
	switch {
	case executor == nil:
		return outcome{err: errors.New("nothing carries out commands of this device")}
	case !s.mayAct():
		return outcome{err: ErrNotOwner}
	}
	order := Order{Command: record.Command, MaxSpeed: record.Decision.MaxSpeed}
	if j.move != nil {
		move := *j.move
		if p := record.Path; p != nil {
			move.Map, order.From = cmp.Or(move.Map, p.Map), &Pose{Map: p.Map, X: p.FromX, Y: p.FromY}
		}
		order.Move = &move
	}
	data, err := executor.Execute(ctx, order)
	return outcome{data, err}
}

// classify returns the record of a command with its outcome.
func (s *control) classify(ctx context.Context, j *job, o outcome) Record {
	s.mu.Lock()
	r, why := j.record, j.why
	s.mu.Unlock()
	r.Result.CompletedAt = canon(s.opts.Now())
	if data, err := json.Marshal(o.data); err != nil || len(data) > MaxParameters {
		s.opts.Logger.Error("executor returned data that cannot be stored", "device", r.DeviceID, "command", r.ID, "bytes", len(data), "error", err)
		o.data = nil
	}
	if o.err == nil {
		r.Phase, r.Result.Success, r.Result.Data = Succeeded, true, o.data
		return r
	}
	r.Phase, r.Result.Data = Failed, o.data
	r.Result.Message = clean(o.err.Error())
	switch cause := context.Cause(ctx); {
	case why != nil && errors.Is(o.err, ErrUnknownOutcome):
		r.Phase, r.Result.Message = Lost, why.result.Message+", but what the device did is not known: "+r.Result.Message
	case why != nil:
		r.Phase, r.Result.Message = why.phase, why.result.Message
	case errors.Is(cause, ErrClosed):
		r.Phase, r.Result.Message = Lost, s.parting.ran+": what the device did is not known"
	case errors.Is(cause, errTimeout):
		r.Phase, r.Result.Message = TimedOut, fmt.Sprintf("the device did not report an end within %s: what it did is not known", s.opts.Timeout)
	case errors.Is(o.err, ErrUnknownOutcome):
		r.Phase = Lost
	}
	return r
}

// end ends a command that waited for its device.
func (s *control) end(j *job, p Phase, result Result) {
	s.mu.Lock()
	r := j.record.ended(p, result, canon(s.opts.Now()))
	s.mu.Unlock()
	s.journal(r)
	s.leave(j, r, false)
}

// journal stores the outcome of a command. It tries again until it is stored or the service is closed; the device takes no other
// command meanwhile, so that what is to be stored has a bound.
func (s *control) journal(r Record) {
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(s.storing, storeTimeout)
		err := s.store.UpdateCommand(ctx, r)
		cancel()
		if err == nil || errors.Is(err, ErrNoCommand) || errors.Is(err, ErrNotOwner) {
			return
		}
		s.opts.Logger.Error("failed to store the outcome of a command; retrying", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase), "error", err)
		if !backoff.Wait(s.ctx, backoff.Delay(100*time.Millisecond, 5*time.Second, failures)) {
			return // recorded as Lost at the next start
		}
	}
}

// Cancel is [Service.Cancel].
func (s *control) Cancel(ctx context.Context, id, by string) (Record, error) {
	j, err := s.cancelByID(ctx, id, by)
	if err != nil {
		return Record{}, err
	}
	return s.await(ctx, j)
}

// cancelByID cancels a command and does not wait for its end.
func (s *control) cancelByID(ctx context.Context, id, by string) (*job, error) {
	s.mu.Lock()
	j := s.jobs[id]
	if j == nil {
		s.mu.Unlock()
		found, err := s.store.Commands(ctx, CommandQuery{ID: id, Limit: 1})
		if err == nil && len(found) == 0 {
			err = ErrNoCommand.On("commandId", id)
		} else if err == nil {
			err = ErrCommandDone.On("commandId", id)
		}
		return nil, err
	}
	waiting := s.cancelJob(j, "canceled by "+by)
	s.mu.Unlock()
	if waiting {
		s.end(j, j.why.phase, j.why.result)
	}
	return j, nil
}

// cancelJob cancels a command and reports whether it waited: then the caller ends it. s.mu is held.
func (s *control) cancelJob(j *job, why string) (waited bool) {
	if j.why == nil {
		j.why = &ending{Canceled, Result{Message: why}}
	}
	if j.cancel != nil {
		j.cancel(errCanceled)
	}
	u := s.units[j.device]
	i := slices.Index(u.queue, j)
	if i >= 0 {
		u.queue = slices.Delete(u.queue, i, i+1)
	}
	return i >= 0
}

// cancelJobs cancels those commands of a device that which selects, also those that are not journaled yet, but no emergency stop. It
// returns those that waited: the caller ends them. s.mu is held.
func (s *control) cancelJobs(u *unit, why string, which func(*job) bool) (waited []*job) {
	for _, j := range s.jobs {
		if j.device == u.ID && !j.stop && which(j) && s.cancelJob(j, why) {
			waited = append(waited, j)
		}
	}
	return waited
}

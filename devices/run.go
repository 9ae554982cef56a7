package devices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/internal/runes"
)

// grace is how long an executor may take to return after its context has ended.
const grace = 5 * time.Second

// maxMessage is the longest message of a result, in bytes.
const maxMessage = 2000

// outcome is what an executor returns.
type outcome struct {
	data map[string]any
	err  error
}

// run carries out a command that has the device, journals its outcome and gives the device to the next one.
func (s *Service) run(j *job) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout)
	defer stop()
	s.mu.Lock()
	j.cancel = cancel
	if j.why != nil {
		cancel(errCanceled)
	}
	s.mu.Unlock()

	returned := make(chan outcome, 1)
	go func() { returned <- s.execute(ctx, j) }()
	var o outcome
	select {
	case o = <-returned:
	case <-waitAfter(ctx, grace):
		// The executor still has the device: it gets no other order until it returns.
		r := s.classify(ctx, j, outcome{err: context.Cause(ctx)})
		s.journal(r)
		<-returned
		s.settled(j, r)
		return
	}
	r := s.classify(ctx, j, o)
	s.journal(r)
	s.settled(j, r)
}

var (
	errTimeout  = errors.New("the device did not report an end in time")
	errCanceled = errors.New("canceled")
)

// waitAfter returns a channel that is closed some time after ctx has ended.
func waitAfter(ctx context.Context, d time.Duration) <-chan struct{} {
	passed := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(d, func() { close(passed) }) })
	return passed
}

// execute lets the executor carry out a command. An executor that panics has failed.
func (s *Service) execute(ctx context.Context, j *job) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			s.opts.Logger.Error("executor panicked", "device", j.record.DeviceID, "command", j.record.ID, "panic", fmt.Sprint(r))
			o = outcome{err: fmt.Errorf("the executor failed: %w", ErrUnknownOutcome)}
		}
	}()
	if ctx.Err() != nil { // canceled before it was begun
		return outcome{err: context.Cause(ctx)}
	}
	if j.record.Type == ResetEmergencyStop {
		return outcome{err: s.reset(ctx, j)}
	}
	executor := s.opts.Executor(j.record.DeviceID)
	if executor == nil {
		return outcome{err: errors.New("nothing carries out commands of this device")}
	}
	order := Order{Command: j.record.Command, MaxSpeed: j.record.Decision.MaxSpeed}
	if p := j.record.Path; p != nil && j.move != nil {
		move := *j.move
		move.Map = p.Map
		order.Move, order.From = &move, &Pose{Map: p.Map, X: p.FromX, Y: p.FromY}
	}
	data, err := executor.Execute(ctx, order)
	return outcome{data, err}
}

// classify returns the record of a command with its outcome.
func (s *Service) classify(ctx context.Context, j *job, o outcome) Record {
	s.mu.Lock()
	r, why := j.record, j.why
	s.mu.Unlock()
	r.Result.CompletedAt = canon(s.opts.Now())
	if o.err == nil {
		r.Phase, r.Result.Success, r.Result.Data = Succeeded, true, o.data
		return r
	}
	r.Phase, r.Result.Data = Failed, o.data
	r.Result.Message = runes.Cut(o.err.Error(), maxMessage)
	switch cause := context.Cause(ctx); {
	case why != nil:
		r.Phase, r.Result.Message = why.phase, why.result.Message
	case errors.Is(cause, ErrClosed):
		r.Phase, r.Result.Message = Lost, "the engine stopped while the command ran: what the device did is not known"
	case errors.Is(cause, errTimeout):
		r.Phase, r.Result.Message = TimedOut, fmt.Sprintf("the device did not report an end within %s: what it did is not known", s.opts.Timeout)
	case errors.Is(o.err, ErrUnknownOutcome):
		r.Phase = Lost
	}
	return r
}

// settled makes the outcome of a command known and gives the device to the next one.
func (s *Service) settled(j *job, r Record) {
	s.mu.Lock()
	j.record = r
	s.release(j, r.Phase == TimedOut || r.Phase == Lost || r.Phase == Canceled)
	s.mu.Unlock()
	s.forget(j)
}

// end ends a command that never reached its device.
func (s *Service) end(j *job, p Phase, result Result) {
	s.mu.Lock()
	r := j.record
	s.mu.Unlock()
	result.CommandID = r.ID
	if result.CompletedAt.IsZero() {
		result.CompletedAt = canon(s.opts.Now())
	}
	r.Phase, r.Result = p, result
	s.journal(r)
	s.mu.Lock()
	j.record = r
	s.mu.Unlock()
	s.forget(j)
}

// journal stores the outcome of a command. It tries again until it is stored or the service is closed; the device takes no other
// command meanwhile, so that what is to be stored has a bound.
func (s *Service) journal(r Record) {
	for failures := 1; ; failures++ {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err := s.store.UpdateCommand(ctx, r)
		cancel()
		if err == nil || errors.Is(err, ErrNoCommand) {
			return
		}
		s.opts.Logger.Error("failed to store the outcome of a command; retrying", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase), "error", err)
		if !backoff.Wait(s.ctx, backoff.Delay(100*time.Millisecond, 5*time.Second, failures)) {
			return // recorded as Lost at the next start
		}
	}
}

// Cancel cancels a command: one that waits is not begun, one that runs is stopped if its executor can. It returns the record when
// the command has ended, or as it is when ctx ends first. One that has ended is [ErrCommandDone], an unknown one [ErrNoCommand].
func (s *Service) Cancel(ctx context.Context, id, by string) (Record, error) {
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
		return Record{}, err
	}
	waiting := s.cancelJob(j, "canceled by "+by)
	s.mu.Unlock()
	if waiting {
		s.end(j, j.why.phase, j.why.result)
	}
	return s.await(ctx, j)
}

// cancelJob cancels a command and reports whether it waited: then the caller ends it. s.mu is held.
func (s *Service) cancelJob(j *job, why string) (waited bool) {
	if j.why == nil {
		j.why = &ending{Canceled, Result{Message: why}}
	}
	if j.cancel != nil {
		j.cancel(errCanceled)
	}
	u := s.units[j.record.DeviceID]
	for i, queued := range u.queue {
		if queued == j {
			u.queue = append(u.queue[:i:i], u.queue[i+1:]...)
			return true
		}
	}
	return false
}

// Commands returns commands of the journal, newest first.
func (s *Service) Commands(ctx context.Context, q CommandQuery) ([]Record, error) {
	return s.store.Commands(ctx, q)
}

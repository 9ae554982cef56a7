package devices

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

// answerTimeout is how long the owner may take to answer a call. A device is asked for a new report meanwhile.
const answerTimeout = 5 * time.Second

// pass passes a call about a device on to the owner, and takes over what it answers.
func (s *Service) pass(ctx context.Context, id string, call func(context.Context) (Device, error)) (Device, error) {
	if s.closed.Load() {
		return Device{}, ErrClosed
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	d, err := call(ctx)
	if m := s.role.Load().mirror; err == nil && m != nil {
		m.changed(d) // the caller finds what it has changed
	}
	if errors.Is(err, ErrUnanswered) {
		err = ErrUnanswered.On("deviceId", id).Wrap(errors.Unwrap(err))
	}
	return d, err
}

// submitElsewhere gives a command to the owner. Its end is awaited in the journal, where a new owner finds it, too.
func (s *Service) submitElsewhere(ctx context.Context, c Command, by string) (Record, error) {
	switch _, err := newJob(c, by); {
	case err != nil:
		return Record{}, err
	case s.closed.Load() && c.Type != EmergencyStop:
		return Record{}, ErrClosed
	case c.Type == EmergencyStop:
		return s.stopElsewhere(ctx, c, by)
	}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	r, err := s.opts.Shared.Owner.Submit(asking, c, by)
	switch {
	case errors.Is(err, ErrUnanswered):
		return s.journaled(ctx, c, err)
	case err != nil:
		return r, err
	}
	return s.awaitEnd(ctx, r)
}

// journaled returns a command as the journal has it after a call whose answer, err, does not tell what has become of it.
func (s *Service) journaled(ctx context.Context, c Command, err error) (Record, error) {
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	found, failed := s.store.Commands(looking, CommandQuery{ID: c.ID, Limit: 1})
	switch {
	case failed == nil && len(found) > 0 && found[0].Digest == c.digest():
		return s.awaitEnd(ctx, found[0])
	case failed == nil && len(found) > 0:
		return Record{}, ErrCommandReused.On("commandId", c.ID)
	case failed == nil && errors.Is(err, ErrClosed):
		return Record{}, ErrNotOwner
	}
	return Record{}, ErrUnanswered.On("commandId", c.ID).Wrap(errors.Join(errors.Unwrap(err), failed))
}

// awaitEnd waits until a command has ended in the journal, or for the end of ctx.
func (s *Service) awaitEnd(ctx context.Context, r Record) (Record, error) {
	for wait := 50 * time.Millisecond; !r.Phase.Ended(); wait = min(wait*3/2, 500*time.Millisecond) {
		if !backoff.Wait(ctx, wait) {
			return r, nil
		}
		found, err := s.store.Commands(ctx, CommandQuery{ID: r.ID, Limit: 1})
		if err == nil && len(found) > 0 {
			r = found[0]
		}
	}
	return r, r.refusal()
}

func (s *Service) cancelElsewhere(ctx context.Context, id, by string) (Record, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer cancel()
	r, err := s.opts.Shared.Owner.Cancel(asking, id, by)
	switch {
	case errors.Is(err, ErrUnanswered):
		return Record{}, ErrUnanswered.On("commandId", id).Wrap(errors.Unwrap(err))
	case err != nil:
		return r, err
	}
	return s.awaitEnd(ctx, r)
}

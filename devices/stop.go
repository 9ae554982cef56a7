package devices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/internal/runes"
)

// stopTimeout is how long an executor may take to tell a device to stop.
const stopTimeout = 10 * time.Second

// Resetter is an [Executor] whose devices must be told that an emergency stop is over.
type Resetter interface {
	Reset(ctx context.Context, deviceID string) error
}

// stop carries out an emergency stop: first the device, then the record.
func (s *Service) stop(j *job) {
	id := j.record.DeviceID
	s.mu.Lock()
	u := s.units[id]
	u.StopLatched = true
	j.record.Phase, j.record.BeganAt = Running, canon(s.opts.Now())
	j.record.Decision = Decision{Allowed: true, Time: j.record.BeganAt}
	waiting := u.queue
	u.queue = nil
	if u.running != nil {
		s.cancelJob(u.running, "emergency stop")
	}
	s.notify(u)
	r := j.record
	s.mu.Unlock()

	err := s.stopDevice(id)
	r.Phase, r.Result.Success, r.Result.CompletedAt = Succeeded, true, canon(s.opts.Now())
	if err != nil {
		r.Phase, r.Result.Success = Failed, false
		r.Result.Message = runes.Cut("commands are refused from now on, but the device could not be stopped: "+err.Error(), maxMessage)
	}
	for _, w := range waiting {
		s.end(w, Canceled, Result{Message: "emergency stop"})
	}
	s.storeLatches(s.ctx)
	stored, added, err := s.store.AddCommand(context.WithoutCancel(s.ctx), r)
	s.mu.Lock()
	switch {
	case err != nil:
		j.err = fmt.Errorf("the device was told to stop, but this is not stored: %w", err)
	case !added && stored.Digest != r.Digest:
		j.err = ErrCommandReused.On("commandId", r.ID)
	case !added:
		j.record = stored
	default:
		j.record = r
	}
	s.mu.Unlock()
	s.forget(j)
}

// stopDevice tells a device to stop. An executor that panics or does not return has failed.
func (s *Service) stopDevice(id string) error {
	executor := s.opts.Executor(id)
	if executor == nil {
		return errors.New("nothing carries out commands of this device")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), stopTimeout)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				told <- fmt.Errorf("the executor failed: %v", r)
			}
		}()
		told <- executor.Stop(ctx, id)
	}()
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the device was not reached within %s", stopTimeout)
	}
}

// reset ends an emergency stop.
func (s *Service) reset(ctx context.Context, j *job) error {
	id := j.record.DeviceID
	if r, ok := s.opts.Executor(id).(Resetter); ok {
		if err := r.Reset(ctx, id); err != nil {
			return err
		}
	}
	s.latches.Lock()
	defer s.latches.Unlock()
	if err := s.store.UpdateDevice(ctx, id, func(d *Device) error { d.StopLatched = false; return nil }); err != nil {
		return fmt.Errorf("the reset could not be stored: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[id]
	u.latched = false
	u.StopLatched = false
	s.notify(u)
	return nil
}

// storeLatches stores emergency stops that are not stored. What fails is tried again by maintain.
func (s *Service) storeLatches(ctx context.Context) {
	s.latches.Lock()
	defer s.latches.Unlock()
	s.mu.Lock()
	var ids []string
	for id, u := range s.units {
		if u.StopLatched && !u.latched {
			ids = append(ids, id)
		}
	}
	s.mu.Unlock()
	for _, id := range ids {
		if err := s.store.UpdateDevice(ctx, id, func(d *Device) error { d.StopLatched = true; return nil }); err != nil {
			s.opts.Logger.Error("failed to store an emergency stop; retrying", "device", id, "error", err)
			continue
		}
		s.mu.Lock()
		s.units[id].latched = true
		s.mu.Unlock()
	}
}

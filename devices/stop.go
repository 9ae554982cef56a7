package devices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

const (
	// stopTimeout is how long an executor may take to tell a device to stop.
	stopTimeout = 5 * time.Second
	// stopRecordWait is how long the answer to an emergency stop waits for the store.
	stopRecordWait = 500 * time.Millisecond
	// maxStops is how many emergency stops of a device wait for the journal. Others are carried out and logged.
	maxStops = 32
	// maxPassedStops is how many emergency stops are remembered, so that one that is passed on twice is carried out once.
	maxPassedStops = 64
	// stopLookInterval is how often the owner of shared devices looks for emergency stops that other engines have journaled.
	stopLookInterval = 250 * time.Millisecond
)

// Resetter is an [Executor] whose devices must be told that an emergency stop is over.
type Resetter interface {
	Reset(ctx context.Context, deviceID string) error
}

// stop carries out an emergency stop: the device first, whatever the store does. Who waits for it is told when it is journaled, but
// not later than stopRecordWait after the device.
func (s *control) stop(j *job) {
	s.mu.Lock()
	u := s.units[j.device]
	u.latch()
	j.record.Phase, j.record.BeganAt = Running, canon(s.opts.Now())
	j.record.Decision = Decision{Allowed: true, Time: j.record.BeganAt}
	waiting := s.cancelJobs(u, "emergency stop", func(*job) bool { return true })
	s.notify(u)
	r := j.record
	s.mu.Unlock()

	latched := make(chan struct{})
	go func() { s.storeLatches(); close(latched) }() // a device that is not reached takes its time
	err := s.stopDevice(j.device)
	r.Phase, r.Result.Success, r.Result.CompletedAt = Succeeded, true, canon(s.opts.Now())
	if err != nil {
		r.Phase, r.Result.Success = Failed, false
		r.Result.Message = clean("commands are refused from now on, but the device could not be stopped: " + err.Error())
	}
	recorded := make(chan struct{})
	found, err := r, error(nil) // of recorded
	go func() {
		found, err = s.journalStop(j, r)
		<-latched
		close(recorded)
	}()
	select {
	case <-recorded:
		s.mu.Lock()
		j.err = err
		s.mu.Unlock()
		s.tell(j, found)
	case <-time.After(stopRecordWait):
		unstored := r
		unstored.Result.Message = cmp.Or(r.Result.Message, "the device was told to stop") + ", but this is not stored yet: a restart would forget it"
		s.tell(j, unstored)
		<-recorded
	}
	for _, w := range waiting {
		s.end(w, w.why.phase, w.why.result)
	}
	s.finish(j)
}

// journalStop journals an emergency stop. It tries again until it is stored or the service is closed. It returns the record that has
// the id.
func (s *control) journalStop(j *job, r Record) (Record, error) {
	for failures := 1; ; failures++ {
		found, added, err := Record{}, false, errTooManyStops
		if !j.unrecorded {
			found, added, err = s.add(r)
		}
		switch {
		case err == nil && !added && found.Digest != r.Digest:
			return r, ErrCommandReused.On("commandId", r.ID)
		case err == nil && !added && !found.Phase.Ended():
			if err = s.store.UpdateCommand(s.storing, r); err == nil { // another engine has journaled it, for this one to carry out
				return r, nil
			}
		case err == nil:
			return found, nil
		}
		s.opts.Logger.Error("failed to journal an emergency stop", "device", r.DeviceID, "command", r.ID, "by", r.By, "success", r.Result.Success, "error", err)
		if j.unrecorded || errors.Is(err, ErrNotOwner) || !backoff.Wait(s.ctx, backoff.Delay(100*time.Millisecond, 5*time.Second, failures)) {
			return r, fmt.Errorf("%s, but this is not stored: %w", cmp.Or(r.Result.Message, "the device was told to stop"), err)
		}
	}
}

var errTooManyStops = errors.New("too many emergency stops of the device wait for the journal")

// latch latches the emergency stop of a device. Service.mu is held.
func (u *unit) latch() {
	u.StopLatched = true
	u.stops++
}

// stopDevice tells a device to stop. An executor that panics or does not return has failed.
func (s *control) stopDevice(id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), stopTimeout)
	defer cancel()
	told := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				told <- fmt.Errorf("the executor failed: %v", r)
			}
		}()
		switch executor := s.opts.Executor(id); {
		case executor == nil:
			told <- errors.New("nothing carries out commands of this device")
		case !s.mayAct():
			told <- ErrNotOwner
		default:
			told <- executor.Stop(ctx, id)
		}
	}()
	select {
	case err := <-told:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the device was not reached within %s", stopTimeout)
	}
}

// reset ends an emergency stop.
func (s *control) reset(ctx context.Context, j *job) error {
	id := j.record.DeviceID
	if r, ok := s.opts.Executor(id).(Resetter); ok { // a nil Executor is none
		if err := s.resetDevice(ctx, j, r); err != nil {
			return err
		}
	}
	ctx, done, err := s.write(ctx)
	defer done()
	if err != nil {
		return fmt.Errorf("the reset could not be stored: %w", err)
	}
	s.mu.Lock()
	u := s.units[id]
	stopped := u.stops != j.stops
	if !stopped {
		u.latched = false // not known until the store has answered
	}
	s.mu.Unlock()
	if stopped {
		return errStoppedAgain
	}
	err = s.store.UpdateDevice(ctx, id, func(d *Device) error { d.StopLatched = false; return nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.stops != j.stops {
		err = errStoppedAgain
	}
	if err != nil {
		s.wakeStorer()
		return fmt.Errorf("the reset could not be stored: %w", err)
	}
	u.StopLatched = false
	s.notify(u)
	return nil
}

// resetDevice tells a device that its emergency stop is over. One that was stopped meanwhile is stopped again: it may have got the
// reset after the stop.
func (s *control) resetDevice(ctx context.Context, j *job, r Resetter) error {
	stopped := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.units[j.device].stops != j.stops
	}
	switch {
	case stopped():
		return errStoppedAgain
	case !s.mayAct():
		return ErrNotOwner
	}
	defer func() {
		if stopped() {
			if err := s.stopDevice(j.device); err != nil {
				s.opts.Logger.Error("failed to stop a device again that was stopped while it was reset", "device", j.device, "error", err)
			}
		}
	}()
	return r.Reset(ctx, j.device)
}

var errStoppedAgain = errors.New("the device was stopped again")

// wakeStorer has maintain store emergency stops soon.
func (s *control) wakeStorer() {
	select {
	case s.latched <- struct{}{}:
	default:
	}
}

// watchStops carries out the emergency stops that other engines have journaled because they did not reach this one.
func (s *control) watchStops(ctx context.Context) {
	ticks := time.NewTicker(stopLookInterval)
	defer ticks.Stop()
	for {
		found, err := s.stops(ctx)
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug("failed to look for emergency stops of other engines; retrying", "error", err)
		}
		for i := range found {
			s.takeStop(found[i])
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// storeLatches stores emergency stops that are not stored. What fails is tried again by maintain.
func (s *control) storeLatches() {
	s.storeDevices(func(u *unit) bool { return u.StopLatched && !u.latched })
}

package devices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

// job is a command that has not ended.
type job struct {
	record Record
	move   *Move
	cancel context.CancelCauseFunc // of the order that runs; nil before
	why    *ending                 // why it was canceled; nil when it was not
	done   chan struct{}           // closed when the outcome is journaled
	err    error                   // why it was not taken; set before done is closed
}

// ending is an outcome that the service decides.
type ending struct {
	phase  Phase
	result Result
}

// Submit gives a device a command and returns its record when it has ended, or as it is when ctx ends first: the command goes on.
// by is who issues it. A command whose id was used before is not carried out again: Submit returns the outcome of the first, or
// [ErrCommandReused] when the commands differ. A command that a policy refuses is [ErrRefused], with the reason as its message;
// its record is returned too. Before Submit returns without an error, the command is in the journal.
func (s *Service) Submit(ctx context.Context, c Command, by string) (Record, error) {
	fields := c.check()
	move, err := c.Move()
	if f, ok := fault.From(err); ok {
		fields = append(fields, f.Fields...)
	}
	if len(fields) > 0 {
		return Record{}, ErrInvalid.Invalid(fields...)
	}
	now := canon(s.opts.Now())
	digest := c.digest()
	if c.Time.IsZero() {
		c.Time = now
	}
	c.Time = canon(c.Time)
	j := &job{record: Record{Command: c, By: by, IssuedAt: now, Digest: digest, Phase: Queued, Result: Result{CommandID: c.ID}}, move: move, done: make(chan struct{})}
	first, err := s.register(j)
	if err != nil {
		return Record{}, err
	}
	if first == j {
		s.begin(ctx, j)
	} else if first.record.Digest != digest {
		return Record{}, ErrCommandReused.On("commandId", c.ID)
	}
	return s.await(ctx, first)
}

// register makes j known, and returns the job that has its id: j, or an earlier one.
func (s *Service) register(j *job) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(j.record.DeviceID)
	if err != nil {
		return nil, err
	}
	if first := s.jobs[j.record.ID]; first != nil {
		return first, nil
	}
	if len(u.queue) >= s.opts.QueueLimit && j.record.Type != EmergencyStop {
		return nil, ErrBusy.On("deviceId", u.ID)
	}
	s.jobs[j.record.ID] = j
	s.active.Add(1)
	return j, nil
}

// await waits for the outcome of a job and returns its record.
func (s *Service) await(ctx context.Context, j *job) (Record, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case j.err != nil:
		return Record{}, j.err
	case j.record.Phase == Refused:
		return j.record, ErrRefused.With("reason", j.record.Decision.Reason)
	}
	return j.record, nil
}

// begin journals a command and dispatches it, or lets it wait for its turn.
func (s *Service) begin(ctx context.Context, j *job) {
	if j.record.Type == EmergencyStop {
		go s.stop(j)
		return
	}
	s.mu.Lock()
	u := s.units[j.record.DeviceID]
	free := u.running == nil && len(u.queue) == 0
	if free {
		s.judge(u, j) // reserves the way, before others can be judged
	}
	record := j.record
	s.mu.Unlock()

	stored, added, err := s.store.AddCommand(context.WithoutCancel(ctx), record)
	switch {
	case err != nil:
		s.abandon(j, err)
	case !added:
		s.repeat(j, stored)
	case record.Phase.Ended():
		s.forget(j)
	case free:
		go s.run(j)
	default:
		s.enqueue(j)
	}
}

// judge asks the policies about a command and, when they allow it, gives it the device and its way. s.mu is held.
func (s *Service) judge(u *unit, j *job) {
	situation := Situation{Now: canon(s.opts.Now()), Command: j.record.Command, Move: j.move, Device: u.Device}
	for _, o := range s.units {
		if o != u && o.State != Decommissioned {
			situation.Others = append(situation.Others, Other{Device: o.Device, Path: o.path})
		}
	}
	d := s.opts.Safety.Check(situation)
	j.record.Decision = d
	if !d.Allowed {
		j.record.Phase = Refused
		j.record.Result.Message, j.record.Result.CompletedAt = d.Reason, situation.Now
		return
	}
	j.record.Phase, j.record.BeganAt = Running, situation.Now
	u.running = j
	if j.record.Path = j.path(u); j.record.Path != nil {
		u.path, u.unsure = j.record.Path, false
	}
}

// path returns the way that a command takes from where the device is; nil if it does not move it.
func (j *job) path(u *unit) *Path {
	if j.move == nil || u.Telemetry == nil || u.Telemetry.Pose == nil {
		return nil
	}
	p := u.Telemetry.Pose
	speed := j.record.Decision.MaxSpeed
	if j.move.Speed != nil {
		speed = *j.move.Speed
	}
	return &Path{Map: p.Map, FromX: p.X, FromY: p.Y, ToX: j.move.X, ToY: j.move.Y, Speed: speed, ReservedAt: j.record.BeganAt}
}

// abandon ends a command that could not be journaled: it was not begun.
func (s *Service) abandon(j *job, err error) {
	s.mu.Lock()
	j.err = err
	s.release(j, false)
	s.mu.Unlock()
	s.forget(j)
}

// repeat ends a command whose id is in the journal already.
func (s *Service) repeat(j *job, stored Record) {
	s.mu.Lock()
	if stored.Digest != j.record.Digest {
		j.err = ErrCommandReused.On("commandId", stored.ID)
	}
	s.release(j, false)
	j.record = stored
	s.mu.Unlock()
	s.forget(j)
}

// release takes the device from a command. unsure keeps its way reserved until the device reports. s.mu is held.
func (s *Service) release(j *job, unsure bool) {
	u := s.units[j.record.DeviceID]
	if u.running != j {
		return
	}
	u.running, u.unsure = nil, unsure && u.path != nil
	if !unsure {
		u.path = nil
	}
}

// forget ends the wait for a job and lets the next one of its device begin.
func (s *Service) forget(j *job) {
	s.mu.Lock()
	delete(s.jobs, j.record.ID)
	u := s.units[j.record.DeviceID]
	s.watches.Send()
	s.mu.Unlock()
	close(j.done)
	s.dispatch(u)
	s.active.Done()
}

func (s *Service) enqueue(j *job) {
	s.mu.Lock()
	if j.why != nil || s.closed {
		why := j.why
		s.mu.Unlock()
		if why == nil {
			why = &ending{Canceled, Result{Message: "the engine stops"}}
		}
		s.end(j, why.phase, why.result)
		return
	}
	u := s.units[j.record.DeviceID]
	at, _ := slices.BinarySearchFunc(u.queue, j, func(queued, j *job) int {
		if byPriority(queued, j) <= 0 {
			return -1 // behind those of the same priority
		}
		return 1
	})
	u.queue = slices.Insert(u.queue, at, j)
	s.mu.Unlock()
	s.dispatch(u)
}

// dispatch begins the commands that wait for a device, as long as they are refused.
func (s *Service) dispatch(u *unit) {
	for {
		s.mu.Lock()
		if u.running != nil || len(u.queue) == 0 || s.closed {
			s.mu.Unlock()
			return
		}
		j := u.queue[0]
		u.queue = u.queue[1:]
		s.judge(u, j)
		record := j.record
		s.mu.Unlock()
		if record.Phase == Refused {
			s.end(j, Refused, record.Result)
			continue
		}
		go s.run(j)
		return
	}
}

// digest tells a repeated command from another one.
func (c Command) digest() string {
	data, err := json.Marshal(struct {
		DeviceID, Type string
		Parameters     map[string]any
		Priority       int
		Time           *time.Time
	}{c.DeviceID, c.Type, c.Parameters, c.Priority, timeOrNil(c.Time)})
	if err != nil {
		return "" // check has refused what is no JSON
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = canon(t)
	return &t
}

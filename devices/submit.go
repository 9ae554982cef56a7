package devices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/fault"
)

// job is a command that has not ended.
type job struct {
	device string
	stop   bool // an emergency stop
	record Record
	move   *Move
	before *Path                   // that the device had reserved for a command with an unknown outcome
	stops  uint64                  // unit.stops when the command was judged
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
	j := &job{device: c.DeviceID, stop: c.Type == EmergencyStop, record: Record{Command: c, By: by, IssuedAt: now, Digest: digest, Phase: Queued, Result: Result{CommandID: c.ID}}, move: move, done: make(chan struct{})}
	first, err := s.register(j)
	if err != nil {
		return Record{}, err
	}
	if first == j {
		s.begin(j)
	}
	return s.await(ctx, first)
}

// register makes j known, and returns the job that carries it out: j, or an earlier one of the same command. An emergency stop whose
// id another command has is carried out all the same; that its id is taken is found when it is journaled.
func (s *Service) register(j *job) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(j.record.DeviceID)
	if err != nil {
		return nil, err
	}
	first := s.jobs[j.record.ID]
	switch {
	case first != nil && first.record.Digest == j.record.Digest:
		return first, nil
	case first != nil && !j.stop:
		return nil, ErrCommandReused.On("commandId", j.record.ID)
	case u.jobs > s.opts.QueueLimit && !j.stop: // one has the device
		return nil, ErrBusy.On("deviceId", u.ID)
	}
	if first == nil {
		s.jobs[j.record.ID] = j
	}
	if !j.stop {
		u.jobs++
	}
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
func (s *Service) begin(j *job) {
	if j.stop {
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

	stored, added, err := s.add(record)
	switch {
	case err != nil:
		s.abandon(j, err)
	case !added:
		s.repeat(j, stored)
	case record.Phase.Ended():
		s.leave(j, record, false)
	case free:
		go s.run(j)
	default:
		s.enqueue(j)
	}
}

// add journals a new command. It does not end with the request: a command that is journaled is carried out.
func (s *Service) add(r Record) (stored Record, added bool, err error) {
	ctx, cancel := context.WithTimeout(s.storing, storeTimeout)
	defer cancel()
	return s.store.AddCommand(ctx, r)
}

// judge asks the policies about a command and, when they allow it, gives it the device and its way. s.mu is held.
func (s *Service) judge(u *unit, j *job) {
	d := s.decide(u, j)
	if !d.Allowed {
		j.record = j.record.refused(d)
		return
	}
	j.record.Phase, j.record.BeganAt, j.record.Decision = Running, d.Time, d
	u.running = j
	if j.record.Path = j.path(u); j.record.Path != nil {
		if !u.unsure.IsZero() {
			j.before = u.path
		}
		u.path, u.unsure = j.record.Path, time.Time{}
	}
}

// confirm asks the policies again when a command is journaled and its device is about to get it: the device may have been taken out
// of operation, moved or stopped meanwhile. It reports whether the command begins; if not, it returns its outcome.
func (s *Service) confirm(j *job, cancel context.CancelCauseFunc) (outcome Record, begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.why == nil && s.closed {
		j.why = &ending{Canceled, Result{Message: stopping}}
	}
	if j.why != nil {
		return j.record.ended(j.why.phase, j.why.result, canon(s.opts.Now())), false
	}
	u := s.units[j.record.DeviceID]
	d := s.decide(u, j)
	if !d.Allowed {
		return j.record.refused(d), false
	}
	j.cancel, j.stops, j.record.BeganAt, j.record.Decision = cancel, u.stops, d.Time, d
	if j.record.Path = j.path(u); j.record.Path != nil {
		u.path = j.record.Path
	}
	return j.record, true
}

// decide asks the policies about a command. s.mu is held.
func (s *Service) decide(u *unit, j *job) (d Decision) {
	now := canon(s.opts.Now())
	defer func() {
		if r := recover(); r != nil {
			d = Decision{Policy: "safety", Reason: fmt.Sprintf("safety: the policies failed: %v", r)}
		}
		d.Time = now
		d.clean()
	}()
	situation := Situation{Now: now, Command: j.record.Command, Move: j.move, Device: u.Device}
	for _, o := range s.units {
		if o != u && (o.State != Decommissioned || o.running != nil) {
			situation.Others = append(situation.Others, Other{Device: o.Device, Path: o.path})
		}
	}
	return s.opts.Safety.Check(situation)
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
	r := j.record
	s.mu.Unlock()
	s.leave(j, r, false)
}

// repeat ends a command whose id is in the journal already. One that is there without an end was not begun: the store reported an
// error when it was added.
func (s *Service) repeat(j *job, stored Record) {
	s.mu.Lock()
	same := stored.Digest == j.record.Digest
	if !same {
		j.err = ErrCommandReused.On("commandId", stored.ID)
	}
	first := s.jobs[stored.ID] == j
	s.mu.Unlock()
	if same && first && !stored.Phase.Ended() {
		stored = stored.ended(Failed, Result{Message: "the command was not begun, because it could not be journaled"}, canon(s.opts.Now()))
		s.journal(stored)
	}
	s.leave(j, stored, false)
}

// leave takes the device from a command that has ended, tells the outcome, and lets the next one begin.
func (s *Service) leave(j *job, r Record, unsure bool) {
	s.release(j, r, unsure)
	s.tell(j, r)
	s.finish(j)
}

// release takes the device from a command. unsure keeps its way reserved until the device reports.
func (s *Service) release(j *job, r Record, unsure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[j.record.DeviceID]
	if u.running != j {
		return
	}
	u.running = nil
	now := canon(s.opts.Now())
	switch path := j.record.Path; {
	case u.State == Decommissioned:
		u.path, u.unsure = nil, time.Time{}
	case path == nil: // it moved nothing: a way that is still reserved is that of an earlier command
	case unsure:
		u.path, u.unsure = path.unclocked(), now
	case !r.Result.Success && j.before != nil:
		u.path, u.unsure = j.before, now
	default:
		u.path, u.unsure = nil, time.Time{}
	}
}

// tell makes the outcome of a command known to those who wait for it.
func (s *Service) tell(j *job, r Record) {
	s.mu.Lock()
	j.record = r
	if s.jobs[r.ID] == j {
		delete(s.jobs, r.ID)
	}
	s.watches.Send()
	s.mu.Unlock()
	close(j.done)
}

// finish ends a job that was told.
func (s *Service) finish(j *job) {
	s.mu.Lock()
	u := s.units[j.device]
	if !j.stop {
		u.jobs--
	}
	s.mu.Unlock()
	s.dispatch(u)
	s.active.Done()
}

func (s *Service) enqueue(j *job) {
	s.mu.Lock()
	if j.why != nil || s.closed {
		why := j.why
		s.mu.Unlock()
		if why == nil {
			why = &ending{Canceled, Result{Message: stopping}}
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

// dispatch begins the next of the commands that wait for a device, and ends those before it that are refused.
func (s *Service) dispatch(u *unit) {
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
	go func() {
		if record.Phase == Refused {
			s.journal(record)
			s.leave(j, record, false)
			return
		}
		// Its beginning is journaled before it begins: after a crash the journal must not have it as waiting.
		ctx, cancel := context.WithTimeout(s.storing, storeTimeout)
		err := s.store.UpdateCommand(ctx, record)
		cancel()
		if err != nil {
			record = record.ended(Failed, Result{Message: clean("the command was not begun, because it could not be journaled: " + err.Error())}, canon(s.opts.Now()))
			s.journal(record)
			s.leave(j, record, false)
			return
		}
		s.run(j)
	}()
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

package devices

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
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

	unrecorded bool // an emergency stop that is not journaled
}

// ending is an outcome that the service decides.
type ending struct {
	phase  Phase
	result Result
}

// Submit gives a device a command and returns its record when it has ended, or as it is when ctx ends first: the command goes on.
// by is who issues it. A command whose id was used before is not carried out again: Submit returns the outcome of the first, or
// [ErrCommandReused] when the commands differ. A command that a policy refuses is [ErrRefused]; its record is returned too, with the
// reason in Decision.Reason. Before Submit returns without an error, the command is in the journal, except for an emergency stop that
// the store does not take at once: its outcome is returned when the device was told to stop, and its Message says that it is not
// stored. An emergency stop is carried out after Close, too.
func (s *Service) Submit(ctx context.Context, c Command, by string) (Record, error) {
	fields := c.check()
	move, err := c.Move()
	if f, ok := fault.From(err); ok {
		fields = append(fields, f.Fields...)
	}
	if len(fields) > 0 {
		return Record{}, ErrInvalid.Invalid(fields...)
	}
	s.refresh(ctx, c)
	now := canon(s.opts.Now())
	digest := c.digest()
	if c.Time.IsZero() {
		c.Time = now
	}
	c.Time = canon(c.Time)
	record := Record{Command: c, By: by, IssuedAt: now, Digest: digest, Phase: Queued, Result: Result{CommandID: c.ID}}
	j := &job{device: c.DeviceID, stop: c.Type == EmergencyStop, record: record, move: move, done: make(chan struct{})}
	first, err := s.register(j)
	if err != nil {
		return Record{}, err
	}
	if first == j {
		s.begin(j)
	}
	return s.await(ctx, first)
}

const (
	reportIsNew = time.Second     // a report that is older is asked for anew
	refreshTime = 2 * time.Second // for the report to come
)

// refresh lets a device report before a command for it is judged, if its executor can ask for that. What comes too late, or not at
// all, is for the policies.
func (s *Service) refresh(ctx context.Context, c Command) {
	d, err := s.Get(c.DeviceID)
	switch {
	case err != nil || c.Type == EmergencyStop:
		return
	case d.State == Offline || d.State == Provisioned || d.State == Decommissioned:
		return
	case d.Telemetry != nil && s.opts.Now().Sub(d.Telemetry.Time).Abs() <= reportIsNew:
		return
	}
	r, ok := s.opts.Executor(c.DeviceID).(Refresher) // a nil Executor is none
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	if err := r.Refresh(ctx, c.DeviceID); err != nil {
		s.opts.Logger.Debug("the device did not report when it was asked to", "device", c.DeviceID, "error", err)
	}
}

// register makes j known, and returns the job that carries it out: j, or an earlier one of the same command. An emergency stop whose
// id another command has is carried out all the same; that its id is taken is found when it is journaled.
func (s *Service) register(j *job) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(j.record.DeviceID)
	if j.stop && errors.Is(err, ErrClosed) {
		u, err = s.known(j.record.DeviceID)
	}
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
	if j.stop {
		u.stopping++
		j.unrecorded = u.stopping > maxStops
	} else {
		u.jobs++
	}
	s.active++
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

// leave takes the device from a command that has ended, reports the outcome, and lets the next one begin.
func (s *Service) leave(j *job, r Record, unsure bool) {
	s.release(j, r, unsure)
	s.tell(j, r)
	s.finish(j)
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
	if j.stop {
		u.stopping--
	} else {
		u.jobs--
	}
	s.mu.Unlock()
	s.dispatch(u)
	s.mu.Lock()
	s.active--
	s.ends.Send()
	s.mu.Unlock()
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

// digest distinguishes a repeated command from another one.
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

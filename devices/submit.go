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
	passed     bool // an emergency stop that another engine has passed on, perhaps again
}

// ending is an outcome that the service decides.
type ending struct {
	phase  Phase
	result Result
}

// newJob returns the job of a command, or [ErrInvalid]. issue must be called.
func newJob(c Command, by string) (*job, error) {
	fields := c.check()
	move, err := c.Move()
	if f, ok := fault.From(err); ok {
		fields = append(fields, f.Fields...)
	}
	if len(fields) > 0 {
		return nil, ErrInvalid.Invalid(fields...)
	}
	record := Record{Command: c, By: by, Digest: c.digest(), Phase: Queued, Result: Result{CommandID: c.ID}}
	return &job{device: c.DeviceID, stop: c.Type == EmergencyStop, record: record, move: move, done: make(chan struct{})}, nil
}

// issue notes when the command was issued.
func (j *job) issue(now time.Time) {
	r := &j.record
	r.IssuedAt = canon(now)
	if r.Time.IsZero() {
		r.Time = r.IssuedAt
	}
	r.Time = canon(r.Time)
}

// Submit is [Service.Submit].
func (s *control) Submit(ctx context.Context, c Command, by string) (Record, error) {
	j, err := s.accept(ctx, c, by, false)
	if err != nil {
		return Record{}, err
	}
	return s.await(ctx, j)
}

// accept takes a command. It returns when the command is in the journal, an emergency stop at once. passed is set if another engine has passed it on.
func (s *control) accept(ctx context.Context, c Command, by string, passed bool) (*job, error) {
	j, err := newJob(c, by)
	if err != nil {
		return nil, err
	}
	j.passed = passed && j.stop
	s.refresh(ctx, c)
	j.issue(s.opts.Now())
	first, err := s.register(j)
	if err != nil {
		return nil, err
	}
	if first == j {
		s.start(j)
	}
	return first, nil
}

// takeStop carries out an emergency stop that another engine has journaled.
func (s *control) takeStop(r Record) {
	j := &job{device: r.DeviceID, stop: true, passed: true, record: r, done: make(chan struct{})}
	if first, err := s.register(j); err == nil && first == j {
		s.start(j)
	}
}

const (
	reportIsNew = time.Second     // a report that is older is asked for anew
	refreshTime = 2 * time.Second // for the report to come
)

// refresh lets a device report before a command for it is judged, if its executor can ask for that. What comes too late, or not at
// all, is for the policies.
func (s *control) refresh(ctx context.Context, c Command) {
	s.mu.Lock()
	d, closed := Device{}, s.closed
	if u := s.units[c.DeviceID]; u != nil {
		d = u.Device
	}
	s.mu.Unlock()
	switch {
	case d.ID == "" || closed || c.Type == EmergencyStop || !s.mayAct():
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
func (s *control) register(j *job) (*job, error) {
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
	if i := slices.IndexFunc(s.stopped, func(e *job) bool { return e.record.ID == j.record.ID }); first == nil && j.passed && i >= 0 {
		first = s.stopped[i]
	}
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
func (s *control) await(ctx context.Context, j *job) (Record, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.err != nil {
		return Record{}, j.err
	}
	return j.record, j.record.refusal()
}

// start journals a command and dispatches it, or lets it wait for its turn.
func (s *control) start(j *job) {
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
func (s *control) add(r Record) (stored Record, added bool, err error) {
	ctx, cancel := context.WithTimeout(s.storing, storeTimeout)
	defer cancel()
	return s.store.AddCommand(ctx, r)
}

// abandon ends a command that could not be journaled: it was not begun.
func (s *control) abandon(j *job, err error) {
	s.mu.Lock()
	j.err = err
	r := j.record
	s.mu.Unlock()
	s.leave(j, r, false)
}

// repeat ends a command whose id is in the journal already. One that is there without an end was not begun: the store reported an
// error when it was added.
func (s *control) repeat(j *job, stored Record) {
	s.mu.Lock()
	same := stored.Digest == j.record.Digest
	if !same {
		j.err = ErrCommandReused.On("commandId", stored.ID)
	}
	first := s.jobs[stored.ID] == j
	if r, ok := s.unsettled[stored.ID]; ok {
		stored = r
	}
	s.mu.Unlock()
	if same && first && !stored.Phase.Ended() {
		stored = stored.ended(Failed, Result{Message: "the command was not begun, because it could not be journaled"}, canon(s.opts.Now()))
		s.journal(stored)
	}
	s.leave(j, stored, false)
}

// leave takes the device from a command that has ended, reports the outcome, and lets the next one begin.
func (s *control) leave(j *job, r Record, unsure bool) {
	s.release(j, r, unsure)
	s.tell(j, r)
	s.finish(j)
}

// tell makes the outcome of a command known to those who wait for it.
func (s *control) tell(j *job, r Record) {
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
func (s *control) finish(j *job) {
	s.mu.Lock()
	u := s.units[j.device]
	if j.stop {
		u.stopping--
		s.stopped = append(s.stopped[max(0, len(s.stopped)-maxPassedStops+1):], j)
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

func (s *control) enqueue(j *job) {
	s.mu.Lock()
	if j.why != nil || s.closed {
		why := j.why
		s.mu.Unlock()
		if why == nil {
			why = &ending{Canceled, Result{Message: s.parting.waiting}}
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
func (s *control) dispatch(u *unit) {
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

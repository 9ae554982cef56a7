package tags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
)

// standby is what the runner of a shared driver has in addition.
type standby struct {
	// run and removed are guarded by the runner's mu.
	run     bool // RunDriver is under way
	removed bool // it is not to be run any more

	waiting atomic.Bool                 // the driver is not run here, and others may run it
	arrives atomic.Bool                 // it is run here, and has not tried to connect before
	valid   atomic.Pointer[func() bool] // reports whether this engine may use the driver; nil: always
	status  atomic.Pointer[DriverStatus]
}

// errNotRun ends a call of a driver that this engine may not use any more.
var errNotRun = errors.New("another engine may run the driver")

// textMoved is the outcome of a write whose driver another engine runs before it was sent.
const textMoved = "the driver moved to another engine before the value was sent"

// elsewhere is the error for a write to a driver that this engine does not run, or that is moving.
type elsewhere struct{ driver, tag string }

func (e *elsewhere) Error() string { return e.Unwrap().Error() }

func (e *elsewhere) Unwrap() error {
	return ErrDriverOffline.On("driverId", e.driver).With("tagName", e.tag)
}

// RunsElsewhere reports whether an error of [Engine.WriteHere] is that this engine does not run the driver, or that the driver is just coming or leaving: whoever
// runs it a moment later may take the request.
func RunsElsewhere(err error) bool {
	there := (*elsewhere)(nil)
	return errors.As(err, &there)
}

func (r *runner) onStandby() bool { return r.standby.waiting.Load() }

// moving reports whether a shared driver is coming to this engine or leaving it. r.mu is held.
func (r *runner) moving() bool {
	return r.engine.shared != nil && !r.standby.removed && (r.standby.arrives.Load() || r.quit.Err() != nil)
}

// mayCall reports whether this engine may use the driver. If not, it ends the run.
func (r *runner) mayCall() bool {
	valid := r.standby.valid.Load()
	if valid == nil || (*valid)() {
		return true
	}
	r.cancel()
	return false
}

// forbid ends the running of a driver for good. ran reports whether it is run; done is closed when that has ended.
func (r *runner) forbid() (done <-chan struct{}, ran bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.standby.removed = true
	return r.done, r.engine.shared == nil || r.standby.run
}

// RunDriver connects a driver of an engine with [Options.Shared] and polls it. When ctx ends, it sends the writes that are queued,
// for 5 s at most, disconnects, and returns nil as soon as nothing is left to do and the outcomes of all writes are logged, for which it waits as long, so
// that whoever runs the driver next may take what has none for lost. A driver that ignores its context holds it up. valid
// reports whether this engine still has the right to use the driver. It is asked before each call of the driver and before each reading is taken over; once
// it reports false, nothing is sent any more. It must be quick and safe for concurrent use.
//
// RunDriver returns ErrInvalidDriver if there is no such driver, also when it is removed meanwhile, and ErrDriverExists if it is run already.
func (e *Engine) RunDriver(ctx context.Context, id string, valid func() bool) error {
	e.mu.RLock()
	r, closed := e.runners[id], e.closed
	e.mu.RUnlock()
	switch {
	case closed:
		return ErrClosed
	case r == nil:
		return ErrInvalidDriver.On("driverId", clip(id))
	case e.shared == nil:
		return ErrDriverExists.On("driverId", id)
	}
	r.mu.Lock()
	switch {
	case r.standby.removed:
		r.mu.Unlock()
		return ErrInvalidDriver.On("driverId", id)
	case r.standby.run:
		r.mu.Unlock()
		return ErrDriverExists.On("driverId", id)
	}
	r.begin()
	r.standby.run = true
	r.mu.Unlock()
	r.takeOver(valid)
	leave, cancel, done := r.leave, r.cancel, r.done
	var watching sync.WaitGroup
	watching.Go(func() { r.watchLease(ctx, valid, leave, cancel, done) })
	r.run()
	watching.Wait()
	r.handBack()
	r.awaitLogged(valid)
	r.mu.Lock()
	r.standby.run = false
	removed := r.standby.removed
	r.mu.Unlock()
	if removed && ctx.Err() == nil {
		return ErrInvalidDriver.On("driverId", id)
	}
	return nil
}

const (
	// leaveTimeout is how long the queued writes of a driver that moves to another engine may take, and their outcomes.
	leaveTimeout = 5 * time.Second
	leaseCheck   = 50 * time.Millisecond
	logCheck     = 5 * time.Millisecond
)

// awaitLogged waits until the outcomes of all writes are logged, as long as the lease lasts. There are no new ones.
func (r *runner) awaitLogged(valid func() bool) {
	for until := time.Now().Add(leaveTimeout); r.hasUnlogged() && valid() && time.Now().Before(until); {
		time.Sleep(logCheck)
	}
}

// hasUnlogged reports whether a write was accepted whose outcome is not logged.
func (r *runner) hasUnlogged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reserved > 0
}

// watchLease ends a run when ctx ends: after the queued writes, or at once if the driver may not be used any more.
func (r *runner) watchLease(ctx context.Context, valid func() bool, leave, cancel context.CancelFunc, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
		return
	}
	leave()
	defer cancel()
	until := time.Now().Add(leaveTimeout)
	for valid() && time.Now().Before(until) {
		select {
		case <-done:
			return
		case <-time.After(leaseCheck):
		}
	}
}

// takeOver makes the tags those of a driver that is run here.
func (r *runner) takeOver(valid func() bool) {
	r.standby.valid.Store(&valid)
	r.standby.arrives.Store(true)
	r.standby.waiting.Store(false)
	r.standby.status.Store(nil)
	r.setState(DriverConnecting)
	now := time.Now()
	for _, en := range r.members() {
		en.mu.Lock()
		en.remote, en.pushed, en.due, en.seen = false, false, true, now // its age counts from here
		en.mu.Unlock()
		en.expect(r.interval(en.tag.Load()))
	}
	r.mu.Lock()
	r.regroup = true
	r.mu.Unlock()
}

// handBack makes the tags those of a driver that others run. They keep their values until one does.
func (r *runner) handBack() {
	r.mu.Lock()
	removed := r.standby.removed
	r.mu.Unlock()
	if removed { // what becomes of the tags is told here
		return
	}
	r.standby.waiting.Store(true)
	for _, en := range r.members() {
		en.mu.Lock()
		en.remote, en.pushed, en.due, en.pace = true, false, false, nil
		en.mu.Unlock()
		en.expect(0)
	}
}

// RemoteSample is the newest sample of a tag whose driver another engine runs.
type RemoteSample struct {
	Tag string
	Sample
	Degraded bool // see Change.Degraded
}

// Samples returns the newest samples of the tags of a driver that this engine runs, for [Engine.Apply] of the others: of the named ones, or
// of all if names is nil. ok is false if it does not run it. The order is undefined.
func (e *Engine) Samples(driver string, names []string) (list []RemoteSample, ok bool) {
	e.mu.RLock()
	r := e.runners[driver]
	if r == nil || r.onStandby() {
		e.mu.RUnlock()
		return nil, false
	}
	var members []*entry
	for _, name := range names {
		if en := e.byName[name]; en != nil && en.tag.Load().Driver == driver {
			members = append(members, en)
		}
	}
	e.mu.RUnlock()
	if names == nil {
		members = r.members()
	}
	list = make([]RemoteSample, 0, len(members))
	for _, en := range members {
		en.mu.Lock()
		list = append(list, RemoteSample{Tag: en.tag.Load().Name, Sample: en.sample, Degraded: en.degraded})
		en.mu.Unlock()
	}
	return list, true
}

// Apply takes over what the engine that runs a driver has reported of its tags. The changes that follow are [Change.Remote]. Samples
// of tags that this engine does not know, or that are not of this driver, are skipped, and all while this engine runs the
// driver itself. unknown reports whether there were some that this engine does not know yet, and may soon. The caller drops what comes too late, by the epochs of the
// driver's leases. Calls for one driver come one after the other.
func (e *Engine) Apply(driver string, samples []RemoteSample) (unknown bool) {
	e.mu.RLock()
	r := e.runners[driver]
	if r == nil || !r.onStandby() {
		e.mu.RUnlock()
		return r == nil
	}
	entries := make([]*entry, len(samples))
	for i := range samples {
		entries[i] = e.byName[samples[i].Tag]
	}
	e.mu.RUnlock()
	at := time.Now()
	var changes []Change
	told := 0
	for i, en := range entries {
		if en == nil || en.tag.Load().Driver != driver {
			unknown = true
			continue
		}
		if c, ok := en.takeRemote(driver, &samples[i], at); ok {
			told++
			changes = append(changes, c)
		}
	}
	r.count(len(samples), 0, told, nil)
	e.notify(changes)
	return unknown
}

// takeRemote takes over a sample of the engine that runs the driver.
func (e *entry) takeRemote(driver string, s *RemoteSample, at time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tag := e.tag.Load()
	if !e.remote || e.removed || tag.Driver != driver || !s.Value.IsZero() && s.Value.Type() != tag.DataType {
		return Change{}, false
	}
	e.seen = at
	if !e.set(tag, &s.Sample, at, s.Degraded) {
		return Change{}, false
	}
	return Change{Tag: tag, Sample: s.Sample, Seq: e.seq, Degraded: s.Degraded, Recorded: e.recorded, Remote: true}, true
}

// Report sets the status of a driver that another engine runs. A status without Engine means that no engine is known to run it, or that
// nothing is heard of the one that did: the tags become Uncertain with ReasonEngine, and keep their values. Report has no
// effect while this engine runs the driver itself.
func (e *Engine) Report(driver string, s DriverStatus) {
	e.mu.RLock()
	r := e.runners[driver]
	e.mu.RUnlock()
	if r == nil || !r.onStandby() {
		return
	}
	r.standby.status.Store(&s)
	if s.Engine != "" {
		return
	}
	now := e.now()
	for part := range slices.Chunk(r.members(), portion) {
		var changes []Change
		for _, en := range part {
			if c, told := en.doubt(now); told {
				changes = append(changes, c)
			}
		}
		e.notify(changes)
	}
}

// doubt makes a sample of another engine Uncertain.
func (e *entry) doubt(now time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.remote || e.sample.Quality == Bad {
		return Change{}, false
	}
	return e.lowerTo(Uncertain, ReasonEngine, now)
}

// reported returns the status that the engine has reported that runs the driver; ok is false if it is run here.
func (r *runner) reported() (s DriverStatus, ok bool) {
	if !r.onStandby() {
		return s, false
	}
	if p := r.standby.status.Load(); p != nil {
		s = *p
	} else {
		s = DriverStatus{State: DriverStopped, LastError: textNoEngine}
	}
	s.ID, s.Type = r.id, r.opts.Type
	r.mu.Lock()
	s.Tags = len(r.entries)
	r.mu.Unlock()
	return s, true
}

const textNoEngine = "no engine runs the driver"

// passOn passes the requests for drivers that are not run here on to the engines that run them.
func (e *Engine) passOn(ctx context.Context, requests []WriteRequest, writes []Write, errs []error) {
	var at map[string][]int
	for i := range errs {
		if there := (*elsewhere)(nil); errors.As(errs[i], &there) {
			if at == nil {
				at = make(map[string][]int)
			}
			at[there.driver] = append(at[there.driver], i)
		}
	}
	var wg sync.WaitGroup
	for driver, which := range at {
		wg.Go(func() {
			list := make([]WriteRequest, len(which))
			for k, i := range which {
				list[k] = requests[i]
				list[k].ID = e.writeID(list[k])
			}
			done, failed, err := e.shared.Write(ctx, driver, list)
			if err == nil && (len(done) != len(list) || len(failed) != len(list)) {
				err = fmt.Errorf("the engine that runs driver %q answered for %d of %d writes", driver, len(done), len(list))
			}
			for k, i := range which {
				switch {
				case err != nil:
					errs[i] = unanswered(err, list[k])
				default:
					writes[i], errs[i] = done[k], failed[k]
				}
			}
		})
	}
	wg.Wait()
}

// unanswered is the error of a request that was passed on.
func unanswered(err error, q WriteRequest) error {
	if f, ok := fault.From(err); ok {
		return f.With("tagName", clip(q.Tag))
	}
	return ErrWriteUnanswered.On("writeId", q.ID).With("tagName", clip(q.Tag)).Wrap(err)
}

func (e *Engine) writeID(q WriteRequest) string {
	if q.ID != "" {
		return q.ID
	}
	return e.newID()
}

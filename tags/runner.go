package tags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/internal/wake"
)

// runner owns one driver: a single goroutine connects it, polls it and sends its writes, so that a
// dead device delays no other.
type runner struct {
	engine *Engine
	id     string
	driver Driver
	opts   DriverOptions
	log    *slog.Logger
	batch  int // most points in one Read

	planner   Planner       // the driver, if it is one
	forwarder Forwarder     // the driver, if it is one
	unpolled  bool          // the driver is Unpolled or a Forwarder
	timeout   time.Duration // of one call of Read, Write or Requests.Next

	// Of the run of a driver, a new one for each call of RunDriver; see begin.
	ctx    context.Context // ends calls of the driver at once
	cancel context.CancelFunc
	quit   context.Context // ends the runner once its queued writes are out
	leave  context.CancelFunc
	done   chan struct{}

	standby standby
	wake    wake.Signal

	mu       sync.Mutex
	entries  map[*entry]struct{}
	regroup  bool // entries or definitions have changed
	queue    []*queuedWrite
	reserved int // places in the queue that are promised, or whose write has an outcome that is not logged
	open     int // of these, the ones whose write has no outcome yet
	state    DriverState
	lastErr  string
	errAt    time.Time
	since    time.Time
	rate     float64
	counted  uint64  // samples at the last tick
	paces    []*pace // of the groups, while connected

	failures int      // calls in a row that failed as a whole; the runner's goroutine only
	scratch  []Change // of take, to be used again; the runner's goroutine only

	confirming []*queuedWrite // sent, to be read back; the runner's goroutine only

	born time.Time
	busy atomic.Int64 // since when a call of the driver is running, counted from born; 0 while none is
	mute atomic.Bool  // connected, but the device does not answer

	reads, readErrors, samples, changes, writes, writeErrors, connects atomic.Uint64
	trips                                                              trips
}

const defaultDriverBatch = 500

func newRunner(e *Engine, id string, d Driver, o DriverOptions) *runner {
	r := &runner{engine: e, id: id, driver: d, opts: o, log: e.log.With("driver", id), batch: defaultDriverBatch,
		wake: wake.NewSignal(), entries: make(map[*entry]struct{}), state: DriverConnecting, born: time.Now()}
	if l, ok := d.(BatchLimiter); ok && l.MaxBatch() > 0 {
		r.batch = l.MaxBatch()
	}
	r.forwarder, r.unpolled = d.(Forwarder)
	if _, ok := d.(Unpolled); ok {
		r.unpolled = true
	}
	r.timeout = o.Timeout
	if p, ok := d.(Planner); ok {
		r.planner, r.timeout = p, max(o.Timeout, p.CallTimeout())
	}
	if e.shared != nil {
		r.state = DriverStopped
		r.standby.waiting.Store(true)
	}
	r.begin()
	return r
}

// begin makes the contexts of a run.
func (r *runner) begin() {
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.quit, r.leave = context.WithCancel(r.ctx)
	r.done = make(chan struct{})
}

// records reports whether Options.Store has the history of the runner's tags.
func (r *runner) records() bool { return r.forwarder != nil && r.engine.store != nil }

func (r *runner) start() {
	if r.engine.shared == nil {
		go r.run()
	}
}

// stop lets queued writes go out until ctx ends, then ends everything.
func (r *runner) stop(ctx context.Context) error {
	done, ran := r.forbid()
	if !ran {
		r.closeDriver()
		return nil
	}
	r.leave()
	select {
	case <-done:
	case <-ctx.Done():
		r.cancel()
		select {
		case <-done:
		case <-time.After(time.Second): // a driver that ignores its context cannot be waited for
			r.setState(DriverStopped)
			return fmt.Errorf("driver %s did not stop: %w", r.id, ctx.Err())
		}
	}
	r.cancel()
	return nil
}

func (r *runner) run() {
	defer close(r.done)
	defer r.closeDriver()
	failures := 0
	for r.quit.Err() == nil {
		err := r.connect()
		if err == nil {
			var worked bool
			if worked, err = r.serve(); worked {
				failures = 0
			}
			r.endReadBack()
		}
		if err == nil || r.engine.shared != nil && r.quit.Err() != nil { // where the driver goes on, nothing is lost
			break
		}
		failures++
		delay := backoff.Delay(r.opts.MinBackoff, r.opts.MaxBackoff, failures)
		r.offline(err, delay)
		r.closeDriver()
		backoff.Wait(r.quit, backoff.Jitter(delay))
	}
	r.setState(DriverStopped)
	if r.engine.shared != nil {
		r.failQueue(textMoved)
		return
	}
	r.failQueue(textStopped)
}

func (r *runner) connect() error {
	defer r.standby.arrives.Store(false)
	r.setState(DriverConnecting)
	ctx, cancel := context.WithTimeout(r.quit, r.opts.Timeout)
	defer cancel()
	if err := r.call(func() error { return r.driver.Connect(ctx) }); err != nil {
		return err
	}
	r.connects.Add(1)
	r.failures = 0
	r.mu.Lock()
	r.state, r.since, r.regroup = DriverOnline, r.engine.now(), true
	r.mute.Store(false)
	r.mu.Unlock()
	level := slog.LevelInfo
	if r.forwarder != nil { // whoever serves its link has logged it
		level = slog.LevelDebug
	}
	r.log.Log(r.ctx, level, "driver is online")
	return nil
}

// offline records why the connection is gone, makes the tags Bad and fails the queued writes.
func (r *runner) offline(err error, wait time.Duration) {
	r.mu.Lock()
	was := r.state
	first := r.lastErr != err.Error() || was == DriverOnline
	r.state, r.since = DriverBackoff, time.Time{}
	r.lastErr, r.errAt = err.Error(), r.engine.now()
	r.mu.Unlock()
	if first && r.quit.Err() == nil { // a repeated failure is logged once
		r.log.Warn("driver is offline", "error", err, "retryIn", wait)
	}
	r.engine.notify(r.degradeAll(ReasonNotConnected))
	r.failQueue(textOffline)
}

func (r *runner) closeDriver() {
	if err := r.watched(r.driver.Close); err != nil && r.quit.Err() == nil {
		r.log.Debug("closing the driver failed", "error", err)
	}
}

func (r *runner) setState(s DriverState) {
	r.mu.Lock()
	r.state, r.since = s, time.Time{}
	r.mu.Unlock()
}

func (r *runner) noteError(err error) {
	r.mu.Lock()
	r.lastErr, r.errAt = err.Error(), r.engine.now()
	r.mu.Unlock()
}

// panicError is a panic of a driver. Its text has no stack, because callers see it in DriverStatus.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("driver panicked: %v", p.value) }

// guard calls a driver and turns a panic into an error: one faulty driver must not end the engine.
func guard(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return call()
}

// guarded is guard, and logs where a panic came from.
func (r *runner) guarded(f func() error) error {
	err := guard(f)
	var p *panicError
	if errors.As(err, &p) {
		r.log.Error("driver panicked", "panic", p.value, "stack", string(p.stack))
	}
	return err
}

// attach and detach are called with the engine's lock held. Wake the runner when all entries are attached or detached: it would group a part.
func (r *runner) attach(en *entry) {
	r.mu.Lock()
	r.entries[en] = struct{}{}
	r.regroup = true
	r.mu.Unlock()
	en.expect(r.interval(en.tag.Load()))
}

func (r *runner) detach(en *entry) {
	r.mu.Lock()
	delete(r.entries, en)
	r.regroup = true
	r.mu.Unlock()
}

func (r *runner) wakeUp() { r.wake.Set() }

// runners are those whose entries have changed.
type runners map[*runner]struct{}

func (rs runners) wakeUp() {
	for r := range rs {
		r.wakeUp()
	}
}

func (r *runner) byAddress(address string) []string {
	var exact, alike []string
	r.mu.Lock()
	for en := range r.entries {
		switch t := en.tag.Load(); {
		case t.Address == address:
			exact = append(exact, t.Name)
		case strings.EqualFold(t.Address, address):
			alike = append(alike, t.Name)
		}
	}
	r.mu.Unlock()
	if len(exact) == 0 {
		exact = alike
	}
	slices.Sort(exact)
	return exact
}

// members returns the runner's tags.
func (r *runner) members() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*entry, 0, len(r.entries))
	for en := range r.entries {
		all = append(all, en)
	}
	return all
}

// degradeAll makes the runner's tags Bad and returns the changes to publish.
func (r *runner) degradeAll(reason Reason) (changes []Change) {
	now := r.engine.now()
	for _, en := range r.members() {
		if en.tag.Load().Driver != r.id { // moved to another driver after this one was removed
			continue
		}
		if c, told := r.engine.unusable.degradeOther(en, reason, now); told {
			changes = append(changes, c)
		}
	}
	return changes
}

func (r *runner) status() DriverStatus {
	if s, ok := r.reported(); ok {
		return s
	}
	var breakers []Breaker
	if b, ok := r.driver.(BreakerReporter); ok {
		_ = r.guarded(func() error {
			breakers = b.Breakers()
			return nil
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	cycles := make([]Cycle, len(r.paces))
	for i, p := range r.paces {
		cycles[i] = p.status()
	}
	s := DriverStatus{
		ID: r.id, Type: r.opts.Type, State: r.currentState(), LastError: r.lastErr, LastErrorAt: r.errAt,
		ConnectedSince: r.since, Tags: len(r.entries), QueuedWrites: r.open, SamplesPerSec: r.rate,
		Reads: r.reads.Load(), ReadErrors: r.readErrors.Load(), Samples: r.samples.Load(),
		Changes: r.changes.Load(), Writes: r.writes.Load(), WriteErrors: r.writeErrors.Load(),
		Connects: r.connects.Load(), Cycles: cycles, Breakers: breakers,
	}
	r.trips.into(&s)
	if r.engine.shared != nil {
		s.Engine = r.engine.shared.Engine
	}
	return s
}

// tick updates the sample rate, a mean that forgets with a time constant of ten seconds.
func (r *runner) tick(passed time.Duration) {
	total := r.samples.Load()
	r.trips.tick(passed)
	r.mu.Lock()
	defer r.mu.Unlock()
	weight := min(1, passed.Seconds()/10)
	r.rate += weight * (float64(total-r.counted)/passed.Seconds() - r.rate)
	r.counted = total
}

// needsReconnect reports whether an error of a whole call means that the connection is lost: the driver reports it, or three calls
// in a row failed.
func (r *runner) needsReconnect(err error) bool {
	r.failures++
	r.noteError(err)
	return errors.Is(err, ErrNotConnected) || r.failures >= 3
}

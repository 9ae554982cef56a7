package rules

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

// Options are the options of [New]. The zero Options work.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now
	NewID  func() string    // ids of rules that are added without one; default: UUIDv7

	// States stores delays, so that they survive a restart. Default: the store, if it is a StateStore.
	States StateStore
	// Current returns a tag and its newest sample, so that a new rule is evaluated immediately: for example a
	// function that calls tags.Engine.Read. Default: a rule is first evaluated when its tag changes.
	Current func(tag string) (tags.Snapshot, bool)

	// Pending stores alarms while the target cannot, so that they survive a restart. Default: none.
	Pending PendingStore

	FlushInterval time.Duration // longest time before the state of a delay is stored; default 250 ms
	RetryInterval time.Duration // time before a failed write is retried; default 1 s
	// PollInterval is how often the store is checked for rules that other services have changed. It requires a
	// store that is a Versioner. Default 0: no other service uses the store.
	PollInterval time.Duration

	// Shared is set if other services evaluate rules of the same store, each of them those of the drivers that it has adopted: see
	// [Service.Adopt]. It requires Current and PollInterval. Default: all rules are evaluated here.
	Shared bool
}

// Service evaluates rules over the changes of tags and raises and clears their alarms. It is safe for concurrent use.
// Close must be called.
//
// A change is evaluated immediately, in the goroutine of Observe, by the rules of its tag. Another goroutine stores the
// resulting transitions in batches. While alarms cannot be stored, at most eight transitions of a rule are pending;
// further ones are coalesced, a raise with its clear, counted in Stats.Coalesced and logged. The last transition of a
// rule is never lost.
//
// A number is compared while its quality is Good or Uncertain. While it is Bad, the phase does not change and delays
// continue. When a tag is removed, the alarms of its rules are cleared, whatever their kind; another service over the
// same store that has the tag, and finds it not normal, raises them again. Rules see only what a tag reports: a deadband
// of the tag can hide a crossing of that size.
type Service struct {
	store         Store
	states        StateStore
	target        alarms.Target
	log           *slog.Logger
	now           func() time.Time
	newID         func() string
	current       func(string) (tags.Snapshot, bool)
	flushInterval time.Duration
	retryInterval time.Duration

	ahead  func() time.Duration // of the target's times
	shower alarms.PendingTarget // the target, if it lists pending alarms; nil otherwise

	wake    chan struct{} // holds a token if run has something to do
	unsaved chan struct{} // holds a token if keep has something to do
	cancel  context.CancelFunc
	giveUp  context.CancelFunc // cancels storing
	running sync.WaitGroup

	pollInterval time.Duration
	versions     Versioner // the store, if it is one
	version      int64     // of the rules here; used by follow alone
	settled      time.Time // when to check the alarms again, zero for never; used by follow alone

	unsure attempt // used by flush alone

	kept       PendingStore // nil for none; this and the following are used by flush alone
	keeps      bool         // kept has signals
	keptSerial uint64       // serial when kept was written
	keptCount  int          // signals passed to kept then
	keepFails  bool         // kept has not stored all

	editing sync.Mutex // held while a rule is changed in the store and in memory

	mu           sync.Mutex
	rules        map[string]*evaluation
	broken       map[string]bool // ids of stored rules that cannot be read
	watches      map[string]*watch
	timers       timers
	serial       uint64              // counts transitions
	queue        list.List           // transitions to be stored, oldest first
	queued       uint64              // counts what was put into queue
	storable     bool                // queue may have transitions that need not wait until Abandon is called
	moved        chan struct{}       // closed when the front of queue changes; nil when nobody waits
	backlogs     map[string]*backlog // by the id of the rule
	lateBacklogs map[string]*backlog // occurrences that are over, likewise; they are in queue too
	unshown      []*backlog          // those that have changed since the last ShowPending
	storing      time.Time           // when the current flush began; zero for none
	interrupt    context.CancelFunc  // ends the call that stores transitions
	dirty        []*evaluation       // those whose state has to be stored
	ended        string              // a rule whose alarm ended with its tag, to be announced to other services; empty for none
	notes        []func()            // log lines, to be written without the lock
	stats        Stats

	drivers   map[string]adoption // whose rules are evaluated here; nil for all; see Adopt
	adopting  sync.Mutex          // held while rules are adopted; taken before mu
	unadopted bool                // a rule has come to a driver of drivers and is not evaluated yet
	recheckAt time.Time           // when to check the alarms after a driver was adopted, zero for never
	left      leftovers

	sample      *tags.Change             // current one that is being evaluated; nil for none
	lateQueued  int                      // of lateBacklogs
	replaying   map[*evaluation]struct{} // those with a replay
	idleCheck   time.Time                // when to look for replays that have ended
	lateSources map[string]*lateSource   // by driver
	lateSource  *lateSource              // of the last late sample; nil for none
}

// Stats are the counters of a [Service].
type Stats struct {
	Rules       int    // enabled
	Unreadable  int    // stored, but not evaluated because they cannot be read
	Active      int    // rules whose alarm is active
	InDelay     int    // rules in an on-delay or off-delay
	Transitions uint64 // raises and clears that were stored
	Pending     int    // raises and clears that are not stored yet
	Coalesced   uint64 // raises and clears that were omitted because too many were pending
	Late        uint64 // occurrences that late samples have shown, which were over
	Err         error  // of the last attempt to store; nil if it succeeded
}

// New reads the rules and starts to evaluate them. It compares the active alarms of the target with the rules, and
// clears those whose rule was removed. store and target are required.
func New(ctx context.Context, store Store, target alarms.Target, o Options) (*Service, error) {
	if err := o.check(store, target); err != nil {
		return nil, err
	}
	r := &Service{
		store: store, states: o.States, target: target, log: o.Logger, now: o.Now, newID: o.NewID, current: o.Current, kept: o.Pending,
		flushInterval: cmp.Or(o.FlushInterval, 250*time.Millisecond), retryInterval: cmp.Or(o.RetryInterval, time.Second),
		wake: make(chan struct{}, 1), unsaved: make(chan struct{}, 1), backlogs: make(map[string]*backlog),
		lateBacklogs: make(map[string]*backlog), replaying: make(map[*evaluation]struct{}), lateSources: make(map[string]*lateSource),
		rules: make(map[string]*evaluation), broken: make(map[string]bool), watches: make(map[string]*watch), pollInterval: o.PollInterval,
	}
	if o.Shared {
		r.drivers = make(map[string]adoption)
	}
	if r.states == nil {
		r.states, _ = store.(StateStore)
	}
	r.versions, _ = store.(Versioner)
	r.shower, _ = target.(alarms.PendingTarget)
	r.ahead = alarms.AheadOf(target)
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.newID == nil {
		r.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	own, cancel := context.WithCancel(context.Background())
	storing, giveUp := context.WithCancel(context.Background())
	r.cancel, r.giveUp = cancel, giveUp
	r.running.Go(func() { r.run(own) })
	r.running.Go(func() { r.keep(own, storing) })
	if o.PollInterval > 0 {
		r.running.Go(func() { r.follow(own) })
	}
	return r, nil
}

// check reports what is missing or wrong for New.
func (o *Options) check(store Store, target alarms.Target) error {
	switch {
	case store == nil:
		return errors.New("rules: New: store is required")
	case target == nil:
		return errors.New("rules: New: target is required")
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"FlushInterval", o.FlushInterval}, {"RetryInterval", o.RetryInterval}, {"PollInterval", o.PollInterval}} {
		if f.value < 0 {
			return fmt.Errorf("rules: Options.%s must not be negative, not %v", f.name, f.value)
		}
	}
	if o.Shared && (o.Current == nil || o.PollInterval == 0) {
		return errors.New("rules: Options.Shared requires Current and PollInterval")
	}
	if _, ok := store.(Versioner); !ok && o.PollInterval > 0 {
		return errors.New("rules: Options.PollInterval requires a store that is a Versioner")
	}
	return nil
}

// load reads the stores and the active alarms of the target.
func (r *Service) load(ctx context.Context) error {
	// Others may add and remove rules meanwhile. An alarm that is active before the rules are read, and has no rule
	// then, is the alarm of a removed rule.
	raised, err := r.raised(ctx)
	if err != nil {
		return err
	}
	if r.pollInterval > 0 {
		if r.version, err = r.versions.RulesVersion(ctx); err != nil {
			return err
		}
	}
	list, err := r.store.Rules(ctx)
	if err != nil {
		return err
	}
	kept, err := r.readStates(ctx)
	if err != nil {
		return err
	}
	ids, pending, err := r.loadPending(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, id := range ids { // the pending signals are newer than what is stored
		for _, s := range pending[id] {
			switch {
			case !s.Ended.IsZero():
				r.queueLateSignal(id, s.Signal)
			case s.Driver != "" && r.drivers != nil:
				r.left.add(id, s, now)
			default:
				raised[id] = s.Raise != nil
				r.queueSignal(id, s.Signal)
			}
		}
	}
	for _, rule := range list {
		e, ok := r.readable(rule)
		if !ok {
			delete(raised, rule.ID)
			continue
		}
		switch {
		case rule.Enabled && r.drivers != nil: // whoever adopts its driver restores it
			delete(raised, rule.ID)
		case rule.Enabled:
			lasts, active := raised[rule.ID]
			r.restore(e, kept[rule.ID], lasts, now)
			if !active || lasts {
				delete(raised, rule.ID)
			}
		}
		r.rules[rule.ID] = e
		r.join(e, now)
	}
	for id, lasts := range raised { // of rules that were removed, disabled or changed while no process ran
		e := r.rules[id]
		switch {
		case e == nil:
			r.transit(&evaluation{rule: Rule{ID: id}, timer: -1}, alarms.Signal{At: now, Comment: commentRemoved})
		case lasts || !e.rule.Latching:
			r.transit(e, alarms.Signal{At: now})
		}
	}
	return nil
}

// readStates returns the stored states by the ids of their rules.
func (r *Service) readStates(ctx context.Context) (map[string]State, error) {
	if r.states == nil {
		return nil, nil
	}
	list, err := r.states.RuleStates(ctx)
	kept := make(map[string]State, len(list))
	for _, s := range list {
		kept[s.RuleID] = s
	}
	return kept, err
}

// Close ends evaluation and stores what is pending, within ctx. Later changes are ignored. It may be called twice.
func (r *Service) Close(ctx context.Context) error {
	r.cancel()
	// A write in progress is awaited, because a canceled one would have to be repeated.
	defer context.AfterFunc(ctx, r.giveUp)()
	r.running.Wait()
	r.giveUp()
	r.mu.Lock()
	r.watches = nil
	r.mu.Unlock()
	return r.flush(ctx)
}

// Stats returns the counters.
func (r *Service) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Unreadable = len(r.broken)
	for _, e := range r.rules {
		if !e.rule.Enabled {
			continue
		}
		s.Rules++
		switch e.phase {
		case PhaseActive:
			s.Active++
		case PhaseOnDelay, PhaseOffDelay:
			s.InDelay++
		}
	}
	s.Pending = r.queue.Len()
	return s
}

// List returns all rules by ID, except those that cannot be read.
func (r *Service) List(ctx context.Context) ([]Rule, error) {
	list, err := r.store.Rules(ctx)
	return slices.DeleteFunc(list, func(rule Rule) bool { return rule.Unreadable }), err
}

// Get returns a rule or an ErrNotFound.
func (r *Service) Get(ctx context.Context, id string) (Rule, error) { return r.store.Rule(ctx, id) }

// Phase returns the evaluation phase of a rule, or PhaseNormal for one that is unknown or disabled.
func (r *Service) Phase(id string) Phase {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.rules[id]; e != nil {
		return e.phase
	}
	return PhaseNormal
}

// join subscribes a rule to its tags, and evaluates it if their samples are known.
func (r *Service) join(e *evaluation, now time.Time) {
	if !e.rule.Enabled || r.watches == nil {
		return
	}
	e.tag = r.watch(e.rule.Tag, e)
	if e.rule.Kind == Deviation && e.rule.SetpointTag != "" {
		e.setpoint = r.watch(e.rule.SetpointTag, e)
	}
	if r.drivers != nil && !e.idle {
		e.idle = !r.adopted(e.tag)
	}
	if e.tag.known {
		r.evaluate(e, now)
	}
}

func (r *Service) watch(tag string, e *evaluation) *watch {
	w := r.watches[tag]
	if w == nil {
		w = &watch{name: tag}
		r.watches[tag] = w
		if r.current != nil {
			if s, ok := r.current(tag); ok {
				w.take(&s.Sample)
				w.lost = lostFor(s.Sample.Reason)
				w.def = s.Tag
			}
		}
	}
	w.rates = w.rates || e.rule.Kind == RateOfChange
	for _, x := range w.rules {
		if x == e {
			return w // the tag is its own setpoint
		}
	}
	w.rules = append(w.rules, e)
	return w
}

// leave unsubscribes a rule from its tags and stops its timer.
func (r *Service) leave(e *evaluation) {
	r.timers.remove(e)
	delete(r.replaying, e)
	for _, w := range []*watch{e.tag, e.setpoint} {
		if w == nil {
			continue
		}
		w.drop(e)
		if len(w.rules) == 0 {
			delete(r.watches, w.name)
		}
	}
}

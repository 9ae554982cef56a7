package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Options configure an Engine. The zero Options work.
type Options struct {
	Logger *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now
	NewID  func() string    // ids of writes; default: UUIDv7
	Writes WriteLog         // default: the last 10,000 writes in memory

	// Store stores the history of tags whose driver is a Forwarder. When it returns nil, the changes
	// survive the end of the process. It gets every reading, also those that a deadband hides from
	// observers, in the order in which they were taken, and the same ones again after it has returned an
	// error. Calls are concurrent for different drivers. It must not keep the slice. Default: history is not
	// stored, and changes of these tags are not Recorded.
	Store func(ctx context.Context, changes []Change) error

	// SweepInterval is how often tags are checked for staleness. Default 500 ms.
	SweepInterval time.Duration

	// Shared is set if other engines have the same drivers, each of which one engine runs at a time. A driver is then connected only
	// while [Engine.RunDriver] does so. What the others run, [Engine.Apply] and [Engine.Report] bring.
	Shared *Shared
}

// Shared is what an engine needs that shares its drivers with others.
type Shared struct {
	Engine string // name of this engine, for DriverStatus
	// Write passes requests on to the engine that runs a driver, where [Engine.WriteHere] takes them. What it returns is as for
	// [Engine.WriteMany]; an error is of all requests. Required.
	Write func(ctx context.Context, driver string, requests []WriteRequest) (writes []Write, errs []error, err error)
}

// Engine holds the tags of any number of drivers: it polls them, keeps the newest sample of each tag
// with its quality, queues writes and notifies subscribers and observers of changes. Safe for
// concurrent use. Close must be called.
type Engine struct {
	log    *slog.Logger
	now    func() time.Time
	newID  func() string
	writes WriteLog
	store  func(context.Context, []Change) error // may be nil
	shared *Shared                               // nil if all drivers are its own

	outcomes *outcomes
	writing  sync.WaitGroup // calls of WriteMany

	claimedMu sync.Mutex
	claimed   map[string]struct{} // ids of writes that are being logged, see WriteRequest.New

	ctx    context.Context // ends the sweeper
	cancel context.CancelFunc
	wg     sync.WaitGroup

	ended    chan struct{} // closed after the first Close
	closeErr error         // of it

	mu        sync.RWMutex
	closed    bool
	byName    map[string]*entry
	sorted    []*entry // by name; never changed, but replaced
	unsorted  []*entry // defined since sorted was made; only appended to
	gone      int      // entries of the two that were removed since
	runners   map[string]*runner
	subs      map[*Subscription]struct{}
	observers atomic.Pointer[[]*observer] // replaced as a whole
	seq       atomic.Uint64               // of the newest change
	revision  atomic.Uint64               // of the definitions

	unusable unusable

	sorting sync.Mutex // held while sorted and natural are rebuilt; taken before mu
	natural []*entry   // as sorted, in natural order; nil until somebody asks for it; guarded by sorting
	wheel   *wheel
}

type observer struct{ notify func([]Change) }

// New returns an engine without drivers and tags.
func New(o Options) (*Engine, error) {
	if o.SweepInterval < 0 {
		return nil, errors.New("tags: Options.SweepInterval must not be negative")
	}
	if o.Shared != nil && o.Shared.Write == nil {
		return nil, errors.New("tags: Options.Shared.Write is required")
	}
	e := &Engine{
		log: o.Logger, now: o.Now, newID: o.NewID, writes: o.Writes, store: o.Store, shared: o.Shared,
		byName:  make(map[string]*entry),
		runners: make(map[string]*runner),
		subs:    make(map[*Subscription]struct{}),
		ended:   make(chan struct{}),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.now == nil {
		e.now = time.Now
	}
	if e.newID == nil {
		e.newID = func() string { return uuid.Must(uuid.NewV7()).String() }
	}
	if e.writes == nil {
		e.writes = NewMemoryWriteLog(10_000)
	}
	every := cmp.Or(o.SweepInterval, 500*time.Millisecond)
	e.wheel = newWheel(every)
	e.outcomes = newOutcomes(e.writes, e.log)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.wg.Go(func() { e.sweepEvery(every) })
	return e, nil
}

// Close ends the subscriptions, sends the queued writes of each driver until ctx ends, stops the drivers and logs the outcomes of
// the writes. If an outcome is not logged when ctx ends, Close returns an error. The tags become Bad with reason NotConnected, and
// observers are notified before Close returns. Afterwards, calls that change something return ErrClosed; reading still works. Calling
// Close again waits for the first call, as long as ctx lasts, and returns its error.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	e.mu.Unlock()
	if first {
		e.closeErr = e.close(ctx)
		close(e.ended)
	}
	select {
	case <-e.ended:
		return e.closeErr
	default:
	}
	select {
	case <-e.ended:
		return e.closeErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (e *Engine) close(ctx context.Context) error {
	e.mu.Lock()
	runners := make([]*runner, 0, len(e.runners))
	for _, r := range e.runners {
		runners = append(runners, r)
	}
	subs := e.subs
	e.subs = map[*Subscription]struct{}{}
	e.mu.Unlock()

	for s := range subs {
		s.end()
	}
	var wg sync.WaitGroup
	errs := make([]error, len(runners))
	for i, r := range runners {
		wg.Go(func() {
			errs[i] = r.stop(ctx)
			e.notify(r.degradeAll(ReasonNotConnected))
		})
	}
	wg.Wait()
	e.writing.Wait() // no longer than the log may take for what they accepted
	errs = append(errs, e.outcomes.close(ctx))
	e.cancel()
	e.wg.Wait()
	return errors.Join(errs...)
}

// DriverOptions configure one driver in the engine. The zero DriverOptions work.
type DriverOptions struct {
	Type            string        // for DriverStatus, such as Modbus
	PollInterval    time.Duration // polling interval of tags that have none of their own; default 1 s
	RefreshInterval time.Duration // polling interval if the driver is a Subscriber; default 60 s
	Timeout         time.Duration // of one call of the driver; default 5 s; see also Planner.CallTimeout
	MinBackoff      time.Duration // wait after the first failed connection; default 500 ms
	MaxBackoff      time.Duration // the wait doubles up to this; default 10 s
	MaxWrites       int           // queued writes beyond which a write is refused; default 1,000
	// ConfirmTimeout limits the time in which a write that asks for confirmation is read back. Then it ends unconfirmed. Default 1 s.
	ConfirmTimeout time.Duration
	Tags           []Tag // defined with the driver; Driver may be left empty
}

func (o DriverOptions) withDefaults() (DriverOptions, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"PollInterval", &o.PollInterval, time.Second},
		{"RefreshInterval", &o.RefreshInterval, time.Minute},
		{"Timeout", &o.Timeout, 5 * time.Second},
		{"MinBackoff", &o.MinBackoff, 500 * time.Millisecond},
		{"MaxBackoff", &o.MaxBackoff, 10 * time.Second},
		{"ConfirmTimeout", &o.ConfirmTimeout, time.Second},
	} {
		if *d.value < 0 {
			return o, fmt.Errorf("tags: DriverOptions.%s must not be negative", d.name)
		}
		*d.value = cmp.Or(*d.value, d.def)
	}
	if o.MaxWrites < 0 {
		return o, errors.New("tags: DriverOptions.MaxWrites must not be negative")
	}
	o.MaxWrites = cmp.Or(o.MaxWrites, 1000)
	o.MaxBackoff = max(o.MaxBackoff, o.MinBackoff)
	return o, nil
}

// AddDriver registers a driver under an id, defines its tags and starts it. The engine owns the
// driver from then on and closes it. Tags that were defined for the id before become readable. If the id is in use, AddDriver
// returns ErrDriverExists; if a tag is not valid or names another driver, ErrInvalidTag; if d is nil, ErrInvalidDriver. Then nothing is registered.
func (e *Engine) AddDriver(id string, d Driver, o DriverOptions) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if d == nil {
		return ErrInvalidDriver.Because("driver %q is nil", clip(id))
	}
	if id == "" {
		return ErrInvalidDriver.Because("driver id must not be empty")
	}
	if msg := nameFault(id); msg != "" || strings.ContainsRune(id, '/') {
		return ErrInvalidDriver.Because("%q is not a driver id", clip(id))
	}
	list := slices.Clone(o.Tags)
	for i := range list {
		if own := cmp.Or(list[i].Driver, id); own != id {
			return ErrInvalidTag.On("tagName", clip(list[i].Name)).Because("driver is %q, but the tag is defined with the driver %q",
				clip(own), id)
		}
		list[i].Driver = id
	}
	own, _ := d.(PointValidator)
	if err := validateAll(list, func(string) PointValidator { return own }); err != nil {
		return err
	}
	o.Tags = nil // a runner has them as entries
	r := newRunner(e, id, d, o)
	if err := e.register(r); err != nil {
		return err
	}
	defer r.start()
	e.handOver(r)
	return e.define(list)
}

func (e *Engine) register(r *runner) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return ErrClosed
	}
	if _, taken := e.runners[r.id]; taken {
		return ErrDriverExists.On("driverId", r.id)
	}
	e.runners[r.id] = r
	return nil
}

// portion is how many tags are worked on while the engine's lock is held: readers wait for no more.
const portion = 256

// handOver moves the tags that were defined for a driver before to its new runner.
func (e *Engine) handOver(r *runner) {
	for part := range slices.Chunk(e.sortedEntries(), portion) {
		var changes []Change
		refused := r.refusals(part)
		e.mu.RLock()
		for _, en := range part {
			if en.gone.Load() || en.tag.Load().Driver != r.id || e.runners[r.id] != r {
				continue
			}
			en.belongTo(r)
			reason := ReasonWaiting
			if f, ok := refused[en]; ok && f.of == en.tag.Load() {
				reason = ReasonConfig
				e.unusable.set(en, f.err)
			} else {
				e.unusable.remove(en)
			}
			if c, told := en.degrade(Bad, reason, e.now()); told {
				changes = append(changes, c)
			}
			r.attach(en)
		}
		e.mu.RUnlock()
		r.wakeUp()
		e.notify(changes)
	}
}

// RemoveDriver stops and closes a driver. Its tags stay, Bad with reason NoDriver; Undefine removes
// them. An unknown id is ErrInvalidDriver.
func (e *Engine) RemoveDriver(ctx context.Context, id string) error {
	e.mu.Lock()
	r, ok := e.runners[id]
	if !ok {
		e.mu.Unlock()
		return ErrInvalidDriver.On("driverId", clip(id))
	}
	delete(e.runners, id)
	e.mu.Unlock()
	err := r.stop(ctx)
	for part := range slices.Chunk(r.members(), portion) {
		var changes []Change
		e.mu.RLock()
		for _, en := range part {
			if e.runners[id] != nil || en.tag.Load().Driver != id { // given to another driver meanwhile
				continue
			}
			e.unusable.remove(en)
			if c, told := en.degrade(Bad, ReasonNoDriver, e.now()); told {
				changes = append(changes, c)
			}
		}
		e.mu.RUnlock()
		e.notify(changes)
	}
	return err
}

// Drivers returns the status of each driver, by id.
func (e *Engine) Drivers() []DriverStatus {
	e.mu.RLock()
	all := make([]DriverStatus, 0, len(e.runners))
	for _, r := range e.runners {
		all = append(all, r.status())
	}
	e.mu.RUnlock()
	slices.SortFunc(all, func(a, b DriverStatus) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Driver returns the status of a driver; ok is false if there is none of the id.
func (e *Engine) Driver(id string) (s DriverStatus, ok bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	r := e.runners[id]
	if r == nil {
		return s, false
	}
	return r.status(), true
}

// Observe calls notify with every reported change, in batches, in the goroutine that the changes come
// from, which is mostly the driver's: notify must be safe for concurrent use, return quickly and not
// keep the slice. Changes of one tag can come from two goroutines, such as a reading and its aging,
// and then arrive in either order; the one with the higher Change.Seq is newer. A caller that reads a tag after
// Observe has returned gets every later change of it. cancel ends the calls.
func (e *Engine) Observe(notify func([]Change)) (cancel func()) {
	o := &observer{notify}
	e.mu.Lock()
	defer e.mu.Unlock()
	with := append(slices.Clone(e.observing()), o)
	e.observers.Store(&with)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		without := slices.DeleteFunc(slices.Clone(e.observing()), func(x *observer) bool { return x == o })
		e.observers.Store(&without)
	}
}

func (e *Engine) observing() []*observer {
	if list := e.observers.Load(); list != nil {
		return *list
	}
	return nil
}

// notify passes changes to the observers.
func (e *Engine) notify(changes []Change) {
	if len(changes) == 0 {
		return
	}
	for _, o := range e.observing() {
		// A faulty observer must not end the driver that the changes come from.
		err := guard(func() error { o.notify(changes); return nil })
		if p := (*panicError)(nil); errors.As(err, &p) {
			e.log.Error("observer of tags panicked", "panic", p.value, "stack", string(p.stack))
		}
	}
}

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

	// SweepInterval is how often tags are checked for staleness. Default 500 ms.
	SweepInterval time.Duration
}

// Engine holds the tags of any number of drivers: it polls them, keeps the newest sample of each tag
// with its quality, queues writes and tells subscribers and observers of changes. Safe for
// concurrent use. Close must be called.
type Engine struct {
	log    *slog.Logger
	now    func() time.Time
	newID  func() string
	writes WriteLog

	outcomes *outcomes
	writing  sync.WaitGroup // calls of WriteMany

	ctx    context.Context // ends the sweeper
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu        sync.RWMutex
	closed    bool
	byName    map[string]*entry
	sorted    []*entry // by name; nil when it has to be made again
	runners   map[string]*runner
	subs      map[*Subscription]struct{}
	observers atomic.Pointer[[]*observer] // replaced as a whole
	seq       atomic.Uint64               // of the newest change
}

type observer struct{ tell func([]Change) }

// New makes an engine without drivers and tags.
func New(o Options) (*Engine, error) {
	if o.SweepInterval < 0 {
		return nil, errors.New("tags: Options.SweepInterval must not be negative")
	}
	e := &Engine{
		log: o.Logger, now: o.Now, newID: o.NewID, writes: o.Writes,
		byName:  make(map[string]*entry),
		runners: make(map[string]*runner),
		subs:    make(map[*Subscription]struct{}),
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
	e.outcomes = newOutcomes(e.writes, e.log)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	every := cmp.Or(o.SweepInterval, 500*time.Millisecond)
	e.wg.Go(func() { e.sweepEvery(every) })
	return e, nil
}

// Close ends subscriptions, lets the queued writes of each driver go out until ctx ends, stops the
// drivers and logs the outcomes of the writes; one that the log has not taken when ctx ends is an
// error. Their tags become Bad with reason NotConnected, and the observers are told before Close
// returns. After it every call that changes something gives ErrClosed; reading still works.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
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
			e.tell(r.degradeAll(ReasonNotConnected))
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
	Type       string        // for DriverStatus, such as Modbus
	Interval   time.Duration // polling interval of tags that have none of their own; default 1 s
	Refresh    time.Duration // polling interval under a Subscriber; default 60 s
	Timeout    time.Duration // of one call of the driver; default 5 s
	BackoffMin time.Duration // wait after the first failed connection; default 500 ms
	BackoffMax time.Duration // the wait doubles up to this; default 30 s
	MaxWrites  int           // queued writes beyond which a write is refused; default 1,000
	// ConfirmFor is how long a write that is to be confirmed is read back before it ends unconfirmed.
	// Default 1 s.
	ConfirmFor time.Duration
	Tags       []Tag // defined with the driver; Driver may be left empty
}

func (o DriverOptions) withDefaults() (DriverOptions, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Interval", &o.Interval, time.Second},
		{"Refresh", &o.Refresh, time.Minute},
		{"Timeout", &o.Timeout, 5 * time.Second},
		{"BackoffMin", &o.BackoffMin, 500 * time.Millisecond},
		{"BackoffMax", &o.BackoffMax, 30 * time.Second},
		{"ConfirmFor", &o.ConfirmFor, time.Second},
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
	o.BackoffMax = max(o.BackoffMax, o.BackoffMin)
	return o, nil
}

// AddDriver registers a driver under an id, defines its tags and starts it. The engine owns the
// driver from then on and closes it. Tags that were defined for the id before come alive. An id in
// use is ErrDriverExists; a tag that is not valid is ErrInvalidTag, and nothing is registered.
func (e *Engine) AddDriver(id string, d Driver, o DriverOptions) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if msg := nameFault(id); msg != "" || strings.ContainsRune(id, '/') {
		return ErrInvalidDriver.Because("%q is no driver id", clip(id))
	}
	list := slices.Clone(o.Tags)
	for i := range list {
		list[i].Driver = cmp.Or(list[i].Driver, id)
	}
	own, _ := d.(AddressChecker)
	err = validateAll(list, func(driver string) AddressChecker {
		if driver == id {
			return own
		}
		return e.addressChecker(driver)
	})
	if err != nil {
		return err
	}
	changes, err := e.register(newRunner(e, id, d, o), list)
	e.tell(changes)
	return err
}

func (e *Engine) register(r *runner, list []Tag) (changes []Change, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, ErrClosed
	}
	if _, taken := e.runners[r.id]; taken {
		return nil, ErrDriverExists.On("driverId", r.id)
	}
	e.runners[r.id] = r
	for _, en := range e.byName {
		if en.tag.Load().Driver != r.id {
			continue
		}
		if c, told := en.degrade(Bad, ReasonWaiting, e.now()); told {
			changes = append(changes, c)
		}
		r.adopt(en)
	}
	changes = append(changes, e.defineLocked(list)...)
	r.start()
	return changes, nil
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
	e.mu.Lock()
	var changes []Change
	if e.runners[id] == nil { // else the id was given to another driver meanwhile
		changes = r.degradeAll(ReasonNoDriver)
	}
	e.mu.Unlock()
	e.tell(changes)
	return err
}

// Drivers tells how each driver is doing, by id.
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

// Observe has tell called with every reported change, in batches, by the goroutine that the changes
// come from, which is mostly the driver's: it must be safe for concurrent use, return quickly and not
// keep the slice. Changes of one tag can come from two goroutines, such as a reading and its aging,
// and then arrive in either order; Change.Seq tells which is the newer one. The function that is
// returned ends it.
func (e *Engine) Observe(tell func([]Change)) (cancel func()) {
	o := &observer{tell}
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

// tell passes changes to the observers.
func (e *Engine) tell(changes []Change) {
	if len(changes) == 0 {
		return
	}
	for _, o := range e.observing() {
		o.tell(changes)
	}
}

package devices

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
)

// control has the devices of a [Service] while it carries out their commands. It owns a goroutine for each command that runs and some
// that store and watch; close ends them.
type control struct {
	store Store
	opts  Options
	origin

	// mu makes the check of a command and the reservation of its way one step for all devices. Nothing blocks while it is held.
	mu        sync.Mutex
	roll      // of the devices
	units     map[string]*unit
	writes    chan struct{}   // has an item while devices are stored, one after the other, so that the last change remains; taken before mu
	jobs      map[string]*job // by command id: those that have not ended
	closed    bool
	parting   parting           // with closed
	left      []Record          // emergency stops that were not carried out yet; until begin
	unsettled map[string]Record // commands that were left, with outcomes that are not stored yet
	asked     chan Decision     // answered by policies that were asked too long ago; nil: they have answered
	latched   chan struct{}     // has an item when a device has reported an emergency stop that is not stored

	stopped []*job         // the emergency stops that have ended last
	active  int            // jobs that have not ended
	ends    wake.Broadcast // of jobs

	wg      sync.WaitGroup  // maintain
	ctx     context.Context // of what runs; canceled by close with ErrClosed
	cancel  context.CancelCauseFunc
	storing context.Context // of calls of the store; canceled some time after ctx
}

// unit is a device with what happens on it.
type unit struct {
	entry
	stored   uint64 // changed, as the store has it
	latched  bool   // StopLatched, as the store has it
	stops    uint64 // how often an emergency stop was latched
	stopping int    // emergency stops that have not ended
	jobs     int    // others that have not ended
	queue    []*job // by priority, then by arrival
	running  *job
	leaving  State // to which a person is changing the device; empty: to none
	path     *Path // reserved
	// unsure is when the command that path is for ended, if the device has not reported where it is since; zero: it has, or the
	// command has not ended.
	unsure time.Time
	moves  bool // with unsure: the device may still move
	// arrived is where its last command took it, if it has not reported since arrivedAt.
	arrived   *Pose
	arrivedAt time.Time
	began     time.Time // of its last movement, perhaps by the clock of another engine
}

// origin is where control of devices comes from.
type origin struct {
	first uint64            // a position beyond those of changes before
	seen  map[string]Device // as another engine has reported them, which may be newer than the stored ones
	// With Options.Shared.
	valid func() bool
	stops func(context.Context) ([]Record, error)
}

// newControl returns control of the devices in a store. Commands that were left unfinished are [Lost]: they are not repeated.
func newControl(ctx context.Context, store Store, opts Options, from origin) (*control, error) {
	s := &control{store: store, opts: opts, origin: from, units: map[string]*unit{}, jobs: map[string]*job{}, writes: make(chan struct{}, 1), latched: make(chan struct{}, 1),
		unsettled: map[string]Record{}}
	all, err := store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	s.sequence = from.first
	for _, d := range all {
		d.State, _ = d.State.Next(Disconnected, d.Held)
		s.load(d)
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	if err := s.restore(ctx); err != nil {
		return nil, err
	}
	s.merge(from.seen)
	s.seen = nil
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	storing, abort := context.WithCancel(context.Background())
	s.storing = storing
	context.AfterFunc(s.ctx, func() { time.AfterFunc(storeGrace, abort) })
	return s, nil
}

// merge takes over what was seen of devices and is not stored yet. Ways that are reserved do not depend on it: clocks of engines may differ.
func (s *control) merge(seen map[string]Device) {
	for id, u := range s.units {
		d := seen[id]
		u.StopLatched = u.StopLatched || d.StopLatched
		if t := d.Telemetry; t != nil && (u.Telemetry == nil || t.Time.After(u.Telemetry.Time)) {
			u.Telemetry, u.LastSeen = t, d.LastSeen
		}
	}
}

// begin carries out the emergency stops that were left, and begins to store and watch.
func (s *control) begin() {
	for _, r := range s.left {
		s.takeStop(r)
	}
	s.left = nil
	s.wg.Go(func() { s.maintain(s.ctx) })
	s.wg.Go(func() { s.watchSilence(s.ctx) })
	if s.isShared() {
		s.wg.Go(func() { s.watchStops(s.ctx) })
		s.wg.Go(func() { s.recordLater(s.ctx) })
	}
}

func (s *control) isShared() bool { return s.opts.Shared != nil }

// mayAct reports whether this engine may still use the devices.
func (s *control) mayAct() bool { return s.valid == nil || s.valid() }

// load takes a device that is stored. s.mu is held, or s is new.
func (s *control) load(d Device) *unit {
	u := &unit{entry: entry{Device: d}, latched: d.StopLatched}
	s.insert(&u.entry)
	u.stored = u.changed
	s.units[d.ID] = u
	return u
}

// Create is [Service.Create].
func (s *control) Create(ctx context.Context, id, name, description string) (Device, error) {
	if err := Validate(id, name, description); err != nil {
		return Device{}, err
	}
	s.mu.Lock()
	count, closed := len(s.units), s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return Device{}, ErrClosed
	case count >= s.opts.MaxDevices:
		return Device{}, ErrTooMany.Because("at most %d", s.opts.MaxDevices)
	}
	now := canon(s.opts.Now())
	d := Device{ID: id, Name: name, Description: description, State: Offline, CreatedAt: now, LastSeen: now}
	if err := s.store.AddDevice(ctx, d); err != nil {
		return Device{}, s.found(ctx, id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify(s.load(d))
	return d, nil
}

// found returns err, the error of adding a device. A device that is stored and not known, because the store reported an error when it
// was added, is known afterwards.
func (s *control) found(ctx context.Context, id string, err error) error {
	s.mu.Lock()
	known := s.units[id] != nil
	s.mu.Unlock()
	if known || !errors.Is(err, ErrExists) {
		return err
	}
	all, failed := s.store.Devices(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(all, func(d Device) bool { return d.ID == id })
	if failed == nil && i >= 0 && s.units[id] == nil {
		s.notify(s.load(all[i]))
	}
	return err
}

// get implements view.
func (s *control) get(id string) (Device, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[id]
	if u == nil {
		return Device{}, false
	}
	return u.Device, true
}

// list implements view.
func (s *control) list() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Device, 0, len(s.units))
	for _, u := range s.units {
		all = append(all, u.Device)
	}
	return all
}

// changes implements view.
func (s *control) changes(ctx context.Context, after uint64, limit int) ([]Device, uint64, error) {
	return s.wait(ctx, &s.mu, after, limit)
}

// retire lets those who wait for changes look elsewhere.
func (s *control) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roll.retire()
}

// Change is [Service.Change].
func (s *control) Change(ctx context.Context, id string, e Event) (Device, error) {
	d, dropped, err := s.change(ctx, id, e)
	for _, j := range dropped {
		s.end(j, j.why.phase, j.why.result)
	}
	return d, err
}

// write waits until it is the only one that stores devices, and returns a context for it. done must be called.
func (s *control) write(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	select {
	case s.writes <- struct{}{}:
		return ctx, func() { cancel(); <-s.writes }, nil
	case <-ctx.Done():
		return ctx, cancel, context.Cause(ctx)
	}
}

// change changes the state of a device. It returns the commands that the caller ends.
func (s *control) change(ctx context.Context, id string, e Event) (d Device, dropped []*job, err error) {
	if _, report := reported[e]; report {
		return Device{}, nil, ErrInvalid.Invalid(fault.Field{Field: "event", Message: "must be one that a person causes"})
	}
	ctx, done, err := s.write(ctx)
	defer done()
	if err != nil {
		return Device{}, nil, err
	}
	s.mu.Lock()
	u, err := s.unit(id)
	if err != nil {
		s.mu.Unlock()
		return Device{}, nil, err
	}
	to, ok := u.State.Next(e, u.Held)
	switch {
	case !ok:
		err = ErrState.Because("%s is not possible in state %s", e, u.State)
	case to == Decommissioned && u.running != nil:
		err = ErrState.Because("%s is not possible while the device carries out a command", e)
	}
	if err == nil {
		u.leaving = to
	}
	s.mu.Unlock()
	if err != nil {
		return Device{}, nil, err
	}
	// Reports may change the state meanwhile; what counts is the one in which the event was possible.
	err = s.store.UpdateDevice(ctx, id, func(d *Device) error { d.State, d.Held = to, to == Maintenance; return nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	u.leaving = ""
	if err != nil {
		return Device{}, nil, err
	}
	u.State, u.Held = to, to == Maintenance
	if to == Maintenance || to == Decommissioned {
		dropped = s.cancelJobs(u, "the device was taken out of operation: "+string(to), func(j *job) bool { return j != u.running })
	}
	if to == Decommissioned && u.running == nil {
		u.reserve(nil, time.Time{}, false)
	}
	s.notify(u)
	return u.Device, dropped, nil
}

// unit returns a device. s.mu is held.
func (s *control) unit(id string) (*unit, error) {
	if s.closed {
		return nil, ErrClosed
	}
	return s.known(id)
}

// known is unit for what is done after Close, too. s.mu is held.
func (s *control) known(id string) (*unit, error) {
	if u := s.units[id]; u != nil {
		return u, nil
	}
	return nil, ErrNotFound.On("deviceId", id)
}

// notify wakes those who wait for a change of the device. s.mu is held.
func (s *control) notify(u *unit) {
	s.touch(&u.entry)
	if s.opts.OnChange != nil {
		s.opts.OnChange(u.Device)
	}
}

// canon returns a time as stores keep it.
func canon(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// byPriority is the order in which commands wait.
func byPriority(a, b *job) int { return cmp.Compare(b.record.Priority, a.record.Priority) }

package devices

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
)

// Service keeps devices and carries out commands on them. Safe for concurrent use. It owns a goroutine for each command that runs and
// one that stores what devices report; Close ends them.
type Service struct {
	store Store
	opts  Options

	// mu makes the check of a command and the reservation of its way one step for all devices. Nothing blocks while it is held.
	mu       sync.Mutex
	units    map[string]*unit
	writes   chan struct{}   // has an item while devices are stored, one after the other, so that the last change remains; taken before mu
	jobs     map[string]*job // by command id: those that have not ended
	closed   bool
	asked    chan Decision // answered by policies that were asked too long ago; nil: they have answered
	sequence uint64        // of reports and changes of all devices
	order    list.List     // of units, the last changed one first
	watches  wake.Broadcast
	latched  chan struct{} // has an item when a device has reported an emergency stop that is not stored

	active int            // jobs that have not ended
	ends   wake.Broadcast // of jobs

	wg      sync.WaitGroup  // maintain
	ctx     context.Context // of what runs; canceled by Close with ErrClosed
	cancel  context.CancelCauseFunc
	storing context.Context // of calls of the store; canceled some time after ctx

	ended    chan struct{} // closed after the first Close
	closeErr error         // of it
}

// unit is a device with what happens on it.
type unit struct {
	Device
	changed  uint64        // Service.sequence at the last report or change
	place    *list.Element // in Service.order
	stored   uint64        // changed, as the store has it
	latched  bool          // StopLatched, as the store has it
	stops    uint64        // how often an emergency stop was latched
	stopping int           // emergency stops that have not ended
	jobs     int           // others that have not ended
	queue    []*job        // by priority, then by arrival
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
}

// New returns a service on a store, which remains the caller's and is closed after the service. Commands that an earlier process left
// unfinished are [Lost]: they are not repeated. Devices are Offline until they report.
func New(ctx context.Context, store Store, opts Options) (*Service, error) {
	if store == nil {
		return nil, fault.Option("devices", "store", "is required")
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{store: store, opts: opts, units: map[string]*unit{}, jobs: map[string]*job{}, latched: make(chan struct{}, 1), writes: make(chan struct{}, 1),
		ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	storing, abort := context.WithCancel(context.Background())
	s.storing = storing
	context.AfterFunc(s.ctx, func() { time.AfterFunc(storeGrace, abort) })
	all, err := store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	s.sequence = uint64(max(opts.Now().UnixMicro(), 1)) // beyond the positions of an earlier process
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
	s.wg.Go(func() { s.maintain(s.ctx) })
	s.wg.Go(func() { s.watchSilence(s.ctx) })
	return s, nil
}

// load takes a device that is stored. s.mu is held, or s is new.
func (s *Service) load(d Device) *unit {
	u := &unit{Device: d, latched: d.StopLatched, changed: s.sequence, stored: s.sequence}
	u.place = s.order.PushFront(u)
	s.units[d.ID] = u
	return u
}

// Create adds a device. Its id, name and description are the caller's; an id that is taken is [ErrExists], a member that breaks
// its rule [ErrInvalid].
func (s *Service) Create(ctx context.Context, id, name, description string) (Device, error) {
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
func (s *Service) found(ctx context.Context, id string, err error) error {
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

// Get returns a device, or [ErrNotFound].
func (s *Service) Get(id string) (Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(id)
	if err != nil {
		return Device{}, err
	}
	return u.Device, nil
}

// List returns all devices by id.
func (s *Service) List() []Device {
	s.mu.Lock()
	all := make([]Device, 0, len(s.units))
	for _, u := range s.units {
		all = append(all, u.Device)
	}
	s.mu.Unlock()
	slices.SortFunc(all, byID)
	return all
}

// Change lets a person's event change the state of a device: [MaintenanceBegins], [MaintenanceEnds], [Decommission] or [Provision].
// An event that is not possible in the state of the device is [ErrState], as is decommissioning one that carries out a command.
// Maintenance and decommissioning cancel the commands that wait; one that runs goes on.
func (s *Service) Change(ctx context.Context, id string, e Event) (Device, error) {
	d, dropped, err := s.change(ctx, id, e)
	for _, j := range dropped {
		s.end(j, j.why.phase, j.why.result)
	}
	return d, err
}

// write waits until it is the only one that stores devices, and returns a context for it. done must be called.
func (s *Service) write(ctx context.Context) (_ context.Context, done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	select {
	case s.writes <- struct{}{}:
		return ctx, func() { cancel(); <-s.writes }, nil
	case <-ctx.Done():
		return ctx, cancel, context.Cause(ctx)
	}
}

// change changes the state of a device. It returns the commands that the caller ends.
func (s *Service) change(ctx context.Context, id string, e Event) (d Device, dropped []*job, err error) {
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
func (s *Service) unit(id string) (*unit, error) {
	if s.closed {
		return nil, ErrClosed
	}
	return s.known(id)
}

// known is unit for what is done after Close, too. s.mu is held.
func (s *Service) known(id string) (*unit, error) {
	if u := s.units[id]; u != nil {
		return u, nil
	}
	return nil, ErrNotFound.On("deviceId", id)
}

// touch marks a device as changed. s.mu is held.
func (s *Service) touch(u *unit) {
	s.sequence++
	u.changed = s.sequence
	s.order.MoveToFront(u.place)
	s.watches.Send()
}

// notify wakes those who wait for a change of the device. s.mu is held.
func (s *Service) notify(u *unit) {
	s.touch(u)
	if s.opts.OnChange != nil {
		s.opts.OnChange(u.Device)
	}
}

// canon returns a time as stores keep it.
func canon(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// byID is the order of lists.
func byID(a, b Device) int { return cmp.Compare(a.ID, b.ID) }

// byPriority is the order in which commands wait.
func byPriority(a, b *job) int { return cmp.Compare(b.record.Priority, a.record.Priority) }

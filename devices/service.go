package devices

import (
	"cmp"
	"context"
	"errors"
	"maps"
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
	sequence uint64 // of reports and changes of all devices
	watches  wake.Broadcast
	latched  chan struct{} // has an item when a device has reported an emergency stop that is not stored

	wg      sync.WaitGroup  // maintain
	active  sync.WaitGroup  // jobs
	ctx     context.Context // of what runs; canceled by Close with ErrClosed
	cancel  context.CancelCauseFunc
	storing context.Context // of calls of the store; canceled some time after ctx

	ended    chan struct{} // closed after the first Close
	closeErr error         // of it
}

// unit is a device with what happens on it.
type unit struct {
	Device
	changed uint64 // Service.sequence at the last report or change
	stored  uint64 // changed, as the store has it
	latched bool   // StopLatched, as the store has it
	stops   uint64 // how often an emergency stop was latched
	jobs    int    // that have not ended, without emergency stops
	queue   []*job // by priority, then by arrival
	running *job
	path    *Path     // reserved
	unsure  time.Time // when the outcome of the command that path is for became unknown; zero: it is known
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
	s := &Service{store: store, opts: opts, sequence: 1, units: map[string]*unit{}, jobs: map[string]*job{}, latched: make(chan struct{}, 1), writes: make(chan struct{}, 1),
		ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	storing, abort := context.WithCancel(context.Background())
	s.storing = storing
	context.AfterFunc(s.ctx, func() { time.AfterFunc(storeGrace, abort) })
	all, err := store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		d.State, _ = d.State.Next(Disconnected, d.Held)
		s.units[d.ID] = &unit{Device: d, latched: d.StopLatched}
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	if err := s.reserve(ctx); err != nil {
		return nil, err
	}
	s.wg.Go(func() { s.maintain(s.ctx) })
	return s, nil
}

// settle records the commands of an earlier process as lost.
func (s *Service) settle(ctx context.Context) error {
	for {
		left, err := s.store.Commands(ctx, CommandQuery{Unfinished: true, Limit: 500})
		if err != nil || len(left) == 0 {
			return err
		}
		for _, r := range left {
			began := r.Phase == Running
			r.Phase = Canceled
			r.Result = Result{CommandID: r.ID, Message: "the engine ended before the command was begun", CompletedAt: s.opts.Now()}
			if began {
				r.Phase, r.Result.Message = Lost, "the engine ended while the command ran: what the device did is not known"
			}
			if err := s.store.UpdateCommand(ctx, r); err != nil {
				return err
			}
			s.opts.Logger.Warn("command of an earlier run has no known outcome", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase))
		}
	}
}

// reserve keeps the ways of commands of earlier processes whose outcome is not known until their devices report.
func (s *Service) reserve(ctx context.Context) error {
	for _, u := range s.units {
		if u.State == Decommissioned {
			continue
		}
		recent, err := s.store.Commands(ctx, CommandQuery{DeviceID: u.ID, Limit: 10})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(recent, func(r Record) bool { return r.Path != nil && !r.BeganAt.IsZero() })
		if i < 0 || !recent[i].Phase.unsure() {
			continue
		}
		if t := u.Telemetry; t == nil || !t.endsMotion() || !t.Time.After(recent[i].Result.CompletedAt) {
			u.path, u.unsure = recent[i].Path.unclocked(), canon(s.opts.Now())
		}
	}
	return nil
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
		return Device{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units[id] = &unit{Device: d}
	s.notify(s.units[id])
	return d, nil
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
	defer s.mu.Unlock()
	all := make([]Device, 0, len(s.units))
	for _, id := range slices.Sorted(maps.Keys(s.units)) {
		all = append(all, s.units[id].Device)
	}
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
	s.mu.Unlock()
	if err != nil {
		return Device{}, nil, err
	}
	// Reports may change the state meanwhile; what counts is the one in which the event was possible.
	if err := s.store.UpdateDevice(ctx, id, func(d *Device) error { d.State, d.Held = to, to == Maintenance; return nil }); err != nil {
		return Device{}, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.State, u.Held = to, to == Maintenance
	if to == Maintenance || to == Decommissioned {
		dropped = s.cancelJobs(u, "the device was taken out of operation: "+string(to), func(j *job) bool { return j != u.running })
	}
	if to == Decommissioned && u.running == nil {
		u.path, u.unsure = nil, time.Time{}
	}
	s.notify(u)
	return u.Device, dropped, nil
}

// unit returns a device. s.mu is held.
func (s *Service) unit(id string) (*unit, error) {
	u := s.units[id]
	switch {
	case s.closed:
		return nil, ErrClosed
	case u == nil:
		return nil, ErrNotFound.On("deviceId", id)
	}
	return u, nil
}

// touch marks a device as changed. s.mu is held.
func (s *Service) touch(u *unit) {
	s.sequence++
	u.changed = s.sequence
	s.watches.Send()
}

// notify tells of a change of the device. s.mu is held.
func (s *Service) notify(u *unit) {
	s.touch(u)
	if s.opts.OnChange != nil {
		s.opts.OnChange(u.Device)
	}
}

// Close ends the service: commands that wait are canceled, those that run are left to their devices and recorded as Lost when they
// do not end before ctx does. A store or an executor that does not return delays it by seconds only. Calling Close again waits for
// the first call, as long as ctx lasts, and returns its error.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.closeErr = s.close(ctx)
		close(s.ended)
	}
	select {
	case <-s.ended:
		return s.closeErr
	default:
	}
	select {
	case <-s.ended:
		return s.closeErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Service) close(ctx context.Context) error {
	s.mu.Lock()
	s.watches.Send()
	var waiting []*job
	for _, u := range s.units {
		waiting, u.queue = append(waiting, u.queue...), nil
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, j := range waiting {
		s.end(j, Canceled, Result{Message: stopping})
	}
	ended := make(chan struct{})
	go func() { s.active.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.storeDevices(func(u *unit) bool { return u.changed != u.stored || u.StopLatched != u.latched })
	s.cancel(ErrClosed)
	s.wg.Wait()
	select {
	case <-ended:
		return nil
	case <-time.After(2 * grace):
		return errors.New("devices: an executor does not return")
	}
}

// stopping is the message of commands that Close cancels.
const stopping = "the engine stops"

// canon returns a time as stores keep it.
func canon(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// byPriority is the order in which commands wait.
func byPriority(a, b *job) int { return cmp.Compare(b.record.Priority, a.record.Priority) }

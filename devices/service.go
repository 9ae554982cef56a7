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
	"github.com/otkit/otkit/internal/backoff"
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
	latches  sync.Mutex      // held while an emergency stop or its reset is stored, so that the last one remains; taken before mu
	jobs     map[string]*job // by command id: those that have not ended
	closed   bool
	sequence uint64 // of reports and changes of all devices
	watches  wake.Broadcast

	wg     sync.WaitGroup  // maintain
	active sync.WaitGroup  // jobs
	ctx    context.Context // of what runs; canceled by Close with ErrClosed
	cancel context.CancelCauseFunc

	ended    chan struct{} // closed after the first Close
	closeErr error         // of it
}

// unit is a device with what happens on it.
type unit struct {
	Device
	changed uint64 // Service.sequence at the last report or change
	stored  uint64 // changed, as the store has it
	latched bool   // StopLatched, as the store has it
	queue   []*job // by priority, then by arrival
	running *job
	path    *Path // reserved
	unsure  bool  // path is that of a command whose outcome is not known
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
	s := &Service{store: store, opts: opts, sequence: 1, units: map[string]*unit{}, jobs: map[string]*job{}, ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
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
	s.wg.Go(func() { s.maintain(s.ctx) })
	return s, nil
}

// settle records the commands of an earlier process as lost. Their ways remain reserved until the devices report.
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
			if u := s.units[r.DeviceID]; u != nil && began {
				u.path, u.unsure = r.Path, r.Path != nil
			}
			s.opts.Logger.Warn("command of an earlier run has no known outcome", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase))
		}
	}
}

// Create adds a device. Its id, name and description are the caller's; an id that is taken is [ErrExists], a member that breaks
// its rule [ErrInvalid].
func (s *Service) Create(ctx context.Context, id, name, description string) (Device, error) {
	fields := checkID(id)
	fields = append(fields, checkText("name", name, true, MaxName)...)
	fields = append(fields, checkText("description", description, false, MaxDescription)...)
	if len(fields) > 0 {
		return Device{}, ErrInvalid.Invalid(fields...)
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
// An event that is not possible in the state of the device is [ErrState]. Maintenance and decommissioning cancel the commands
// that wait; one that runs goes on.
func (s *Service) Change(ctx context.Context, id string, e Event) (Device, error) {
	var to State
	change := func(d *Device) error {
		if _, reported := reported[e]; reported {
			return ErrInvalid.Invalid(fault.Field{Field: "event", Message: "must be one that a person causes"})
		}
		next, ok := d.State.Next(e, d.Held)
		if !ok {
			return ErrState.Because("%s is not possible in state %s", e, d.State)
		}
		to = next
		d.State, d.Held = next, next == Maintenance
		return nil
	}
	s.mu.Lock()
	u, err := s.unit(id)
	if err == nil {
		trial := u.Device
		err = change(&trial)
	}
	s.mu.Unlock()
	if err != nil {
		return Device{}, err
	}
	// The store has the state of the last change or older; what counts is the one that was just tried.
	if err := s.store.UpdateDevice(ctx, id, func(d *Device) error { d.State, d.Held = to, to == Maintenance; return nil }); err != nil {
		return Device{}, err
	}
	s.mu.Lock()
	u.State, u.Held = to, to == Maintenance
	var dropped []*job
	if to == Maintenance || to == Decommissioned {
		dropped, u.queue = u.queue, nil
	}
	s.notify(u)
	d := u.Device
	s.mu.Unlock()
	for _, j := range dropped {
		s.end(j, Canceled, Result{Message: "the device was taken out of operation: " + string(to)})
	}
	return d, nil
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

// maintain stores what devices report and finds those that are silent.
func (s *Service) maintain(ctx context.Context) {
	every := min(s.opts.StoreEvery, s.opts.OfflineAfter/2)
	for backoff.Wait(ctx, every) {
		s.findSilent()
		s.storeReports(ctx)
		s.storeLatches(ctx)
	}
}

func (s *Service) findSilent() {
	now := s.opts.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.units {
		if now.Sub(u.LastSeen) > s.opts.OfflineAfter {
			s.advance(u, Disconnected)
		}
	}
}

// storeReports stores the devices that have changed since they were stored.
func (s *Service) storeReports(ctx context.Context) {
	s.mu.Lock()
	var changed []unit
	for _, u := range s.units {
		if u.changed != u.stored {
			changed = append(changed, unit{Device: u.Device, changed: u.changed})
		}
	}
	s.mu.Unlock()
	for _, c := range changed {
		if err := s.storeDevice(ctx, c.Device); err != nil {
			s.opts.Logger.Error("failed to store a device; retrying", "device", c.ID, "error", err)
			return
		}
		s.mu.Lock()
		s.units[c.ID].stored = c.changed
		s.mu.Unlock()
	}
}

// storeDevice stores what the device reported. Held and the emergency stop are stored where they change.
func (s *Service) storeDevice(ctx context.Context, d Device) error {
	return s.store.UpdateDevice(ctx, d.ID, func(stored *Device) error {
		stored.Telemetry = d.Telemetry
		if d.LastSeen.After(stored.LastSeen) {
			stored.LastSeen = d.LastSeen
		}
		if !stored.Held && stored.State != Decommissioned {
			stored.State = d.State
		}
		return nil
	})
}

// Close ends the service: commands that wait are canceled, those that run are left to their devices and recorded as Lost when they
// do not end before ctx does. Calling Close again waits for the first call, as long as ctx lasts, and
// returns its error.
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
	for _, j := range waiting {
		s.end(j, Canceled, Result{Message: "the engine stops"})
	}
	ended := make(chan struct{})
	go func() { s.active.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	s.cancel(ErrClosed)
	s.wg.Wait()
	var err error
	select {
	case <-ended:
	case <-time.After(2 * grace):
		err = errors.New("devices: an executor does not return")
	}
	s.storeReports(context.WithoutCancel(ctx))
	s.storeLatches(context.WithoutCancel(ctx))
	return err
}

// canon returns a time as stores keep it.
func canon(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// byPriority is the order in which commands wait.
func byPriority(a, b *job) int { return cmp.Compare(b.record.Priority, a.record.Priority) }

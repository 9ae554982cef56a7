package devices

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
)

// Service keeps devices and carries out commands on them. Safe for concurrent use. It owns a goroutine for each command that runs and
// some that store and watch; Close ends them.
//
// With [Options.Shared] it is one of several services that have the same devices in one store. One at a time, the owner, carries out the
// commands and takes the reports of the devices; see [Service.Run]. The others have a copy of what the owner knows, see [Service.Follow],
// and pass calls on to it.
type Service struct {
	store Store
	opts  Options

	role   atomic.Pointer[role]
	roles  wake.Broadcast
	closed atomic.Bool

	// Without Options.Shared: of the first Close.
	ended    chan struct{} // closed when it is done
	closeErr error

	// With Options.Shared.
	shared  SharedStore
	running chan struct{}   // has an item while Run runs, and after Close
	mu      sync.Mutex      // of what follows
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup // of what spawn runs
	stops   chan struct{}  // has an item for each emergency stop that is not passed on and stored
}

// role is where the devices of a service are: one of both is set.
type role struct {
	tenure *tenure // here
	mirror *mirror // at another engine
}

// view has the devices as they are known here.
type view interface {
	get(id string) (Device, bool)
	list() []Device // in no order
	// changes waits for changes after a position; see roll.wait.
	changes(ctx context.Context, after uint64, limit int) ([]Device, uint64, error)
}

func (r *role) view() view {
	if r.tenure != nil {
		return r.tenure.control
	}
	return r.mirror
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
	s := &Service{store: store, opts: opts, ended: make(chan struct{}), running: make(chan struct{}, 1), stops: make(chan struct{}, maxStopsElsewhere)}
	if opts.Shared != nil {
		return s, s.share(ctx)
	}
	c, err := newControl(ctx, store, opts, origin{first: s.firstPosition()})
	if err != nil {
		return nil, err
	}
	c.begin()
	s.role.Store(&role{tenure: alone(c)})
	return s, nil
}

// firstPosition returns a position beyond those of an earlier process.
func (s *Service) firstPosition() uint64 { return uint64(max(s.opts.Now().UnixMicro(), 1)) }

// Close ends the service: commands that wait are canceled, those that run are left to their devices and recorded as Lost when they
// do not end before ctx does. A store or an executor that does not return delays it by seconds only. Calling Close again waits for
// the first call, as long as ctx lasts, and returns its error.
func (s *Service) Close(ctx context.Context) error {
	first := s.closed.CompareAndSwap(false, true)
	if s.opts.Shared != nil {
		return s.leave(ctx)
	}
	if c := s.role.Load().tenure.control; first {
		c.retire()
		s.closeErr = c.close(ctx, stopping)
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

// Get returns a device, or [ErrNotFound].
func (s *Service) Get(id string) (Device, error) {
	if s.closed.Load() {
		return Device{}, ErrClosed
	}
	d, ok := s.role.Load().view().get(id)
	if !ok {
		return Device{}, ErrNotFound.On("deviceId", id)
	}
	return d, nil
}

// List returns all devices by id.
func (s *Service) List() []Device {
	all := s.role.Load().view().list()
	slices.SortFunc(all, byID)
	return all
}

// Changes waits until devices have changed after a position, and returns them as they are now, in the order of their last changes,
// with the position to go on from. At position 0, or at one of an earlier process, it returns all devices at once, at 0 by id. Of a
// device that changes several times between two calls the last state is returned, so that a slow reader costs nothing. It returns the
// cause of ctx when ctx ends, and [ErrClosed] after Close.
func (s *Service) Changes(ctx context.Context, after uint64) ([]Device, uint64, error) {
	for {
		r := s.role.Load()
		if s.closed.Load() {
			return nil, after, ErrClosed
		}
		found, next, err := r.view().changes(ctx, after, 0)
		if errors.Is(err, errRetired) {
			continue
		}
		if after == 0 {
			slices.SortFunc(found, byID)
		}
		return found, next, err
	}
}

// Create adds a device. Its id, name and description are the caller's; an id that is taken is [ErrExists], a member that breaks
// its rule [ErrInvalid].
func (s *Service) Create(ctx context.Context, id, name, description string) (Device, error) {
	if t := s.tenure(); t != nil {
		d, err := t.Create(ctx, id, name, description)
		return d, s.moved(err)
	}
	return s.pass(ctx, id, func(ctx context.Context) (Device, error) {
		return s.opts.Shared.Owner.Create(ctx, id, name, description)
	})
}

// Change lets a person's event change the state of a device: [MaintenanceBegins], [MaintenanceEnds], [Decommission] or [Provision].
// An event that is not possible in the state of the device is [ErrState], as is decommissioning one that carries out a command.
// Maintenance and decommissioning cancel the commands that wait; one that runs goes on.
func (s *Service) Change(ctx context.Context, id string, e Event) (Device, error) {
	if t := s.tenure(); t != nil {
		d, err := t.Change(ctx, id, e)
		return d, s.moved(err)
	}
	return s.pass(ctx, id, func(ctx context.Context) (Device, error) { return s.opts.Shared.Owner.Change(ctx, id, e) })
}

// Submit gives a device a command and returns its record when it has ended, or as it is when ctx ends first: the command goes on.
// by is who issues it. A command whose id was used before is not carried out again: Submit returns the outcome of the first, or
// [ErrCommandReused] when the commands differ. A command that a policy refuses is [ErrRefused]; its record is returned too, with the
// reason in Decision.Reason. Before Submit returns without an error, the command is in the journal, except for an emergency stop that
// the store does not take at once: its outcome is returned when the device was told to stop, and its Message says that it is not
// stored. An emergency stop is carried out after Close, too.
//
// If another engine has the devices and does not answer, Submit returns [ErrUnanswered] for a command that is not in the journal; whether it
// comes to be there is not known. If none has them, it returns [ErrNotOwner]: the command was not begun. An emergency stop is stored then, for
// the next owner to carry out, and told to the device if [Shared.Stop] can; what is known is in the record.
func (s *Service) Submit(ctx context.Context, c Command, by string) (Record, error) {
	t := s.ready()
	if t == nil {
		return s.submitElsewhere(ctx, c, by)
	}
	r, err := t.Submit(ctx, c, by)
	switch {
	case s.opts.Shared == nil || t.stands():
		return r, s.moved(err)
	case c.Type == EmergencyStop && r.Result.Success:
		return r, err
	case c.Type == EmergencyStop:
		return s.stopElsewhere(ctx, c, by)
	}
	return s.journaled(ctx, c, err) // the engine that has the devices now decides
}

// Cancel cancels a command: one that waits is not begun, one that runs is stopped if its executor can. It returns the record when
// the command has ended, or as it is when ctx ends first. One that has ended is [ErrCommandDone], an unknown one [ErrNoCommand].
func (s *Service) Cancel(ctx context.Context, id, by string) (Record, error) {
	t := s.tenure()
	if t == nil {
		return s.cancelElsewhere(ctx, id, by)
	}
	r, err := t.Cancel(ctx, id, by)
	return r, s.moved(err)
}

// Commands returns commands of the journal, newest first.
func (s *Service) Commands(ctx context.Context, q CommandQuery) ([]Record, error) {
	return s.store.Commands(ctx, q)
}

// Connected reports that a device is connected.
func (s *Service) Connected(id string) error { return s.connection(id, Connected) }

// Disconnected reports that the connection to a device is lost.
func (s *Service) Disconnected(id string) error { return s.connection(id, Disconnected) }

func (s *Service) connection(id string, e Event) error {
	t := s.tenure()
	if t == nil {
		return ErrNotOwner
	}
	return t.connection(id, e)
}

// Report takes what a device reports about itself. A zero Time is now, a later one too: the clock of a device may be ahead. A member
// out of its range is [ErrInvalid]. A report that is older than the last one changes nothing, except that an emergency stop in it is
// latched. An emergency stop that begins cancels the commands of the device: it must not go on with one when the stop is released.
// Report does not wait for the store; an emergency stop is stored soon after.
//
// Report is for executors: if another engine has the devices, it returns [ErrNotOwner]. [Service.Relay] is for devices that report by themselves.
func (s *Service) Report(id string, t Telemetry) error {
	owner := s.tenure()
	if owner == nil {
		return ErrNotOwner
	}
	return owner.Report(id, t)
}

// Relay is [Service.Report] on whichever engine has the devices.
func (s *Service) Relay(ctx context.Context, id string, t Telemetry) error {
	if owner := s.tenure(); owner != nil {
		return owner.Report(id, t)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return s.opts.Shared.Owner.Report(ctx, id, t)
}

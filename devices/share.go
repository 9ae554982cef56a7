package devices

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/backoff"
)

// Shared is what a service needs that has its devices in common with those of other engines.
type Shared struct {
	// Owner passes calls on to the owner, which answers them with its [Service.Owner]. Required.
	Owner Owner
	// Stop tells a device to stop although another engine has it: it is called for an emergency stop if no engine that has the
	// devices answers. It needs a connection of its own, and returns when the device was told. nil: not possible.
	Stop func(ctx context.Context, deviceID string) error
}

// Owner is the engine that has the devices. Errors are those of [Service]; [ErrNotOwner] if the engine does not have the devices, or none
// is known that does: nothing was begun then; [ErrUnanswered] if it is not known whether it was.
type Owner interface {
	Create(ctx context.Context, id, name, description string) (Device, error)
	Change(ctx context.Context, id string, e Event) (Device, error)
	// Submit gives a device a command and returns when the command is in the journal, or an emergency stop was carried out.
	Submit(ctx context.Context, c Command, by string) (Record, error)
	// Cancel cancels a command and does not wait for its end.
	Cancel(ctx context.Context, id, by string) (Record, error)
	Report(ctx context.Context, id string, t Telemetry) error
	// Changes returns at most limit devices that have changed after a position, and the position to go on from. If there are none, it waits
	// for half a second at most.
	Changes(ctx context.Context, after Position, limit int) ([]Device, Position, error)
}

// Position is a position in the changes of an owner. The zero Position is before all.
type Position struct{ Epoch, Sequence uint64 }

// tenure is the time in which this engine has the devices.
type tenure struct {
	*control
	epoch  uint64
	valid  func() bool
	over   atomic.Bool
	opened chan struct{} // closed when commands can be carried out
}

// alone returns the tenure of a service that shares nothing.
func alone(c *control) *tenure {
	t := &tenure{control: c, valid: func() bool { return true }, opened: make(chan struct{})}
	close(t.opened)
	return t
}

// stands reports whether this engine may use the devices.
func (t *tenure) stands() bool { return !t.over.Load() && t.valid() }

// tenure returns that of this engine, nil if it may not use the devices.
func (s *Service) tenure() *tenure {
	t := s.role.Load().tenure
	if t == nil || !t.stands() {
		return nil
	}
	return t
}

// openTime is how long commands wait for the executors of a new owner.
const openTime = 2 * time.Second

// ready is tenure for a command.
func (s *Service) ready() *tenure {
	t := s.tenure()
	if t == nil {
		return nil
	}
	select {
	case <-t.opened:
	case <-time.After(openTime):
		return nil
	}
	return t
}

// Owns reports whether this engine has the devices: whether it may send them anything. Without [Options.Shared] it always does.
func (s *Service) Owns() bool {
	return s.tenure() != nil
}

// Shared reports whether other engines have the same devices: whether [Options.Shared] is set.
func (s *Service) Shared() bool { return s.opts.Shared != nil }

// Active returns how many commands have not ended, as far as this engine has them.
func (s *Service) Active() int {
	t := s.role.Load().tenure
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
}

// share begins to share the devices.
func (s *Service) share(ctx context.Context) error {
	store, ok := s.store.(SharedStore)
	switch {
	case !ok:
		return fault.Option("devices", "store", "must be a SharedStore where Options.Shared is set")
	case s.opts.Shared.Owner == nil:
		return fault.Option("devices", "Options.Shared.Owner", "is required")
	}
	all, err := store.Devices(ctx)
	if err != nil {
		return err
	}
	m := newMirror(s.firstPosition(), 0, s.opts.OnChange)
	m.stored(all)
	s.shared = store
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.role.Store(&role{mirror: m})
	return nil
}

// leave is Close of a service that shares its devices.
func (s *Service) leave(ctx context.Context) error {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	if m := s.role.Load().mirror; m != nil {
		m.end()
	}
	select {
	case s.running <- struct{}{}:
		<-s.running
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ended := make(chan struct{})
	go func() { s.wg.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errRunning = fault.New(fault.Conflict, "DEVICES_RUNNING", "this engine has the devices already")

const (
	// leaveTimeout is how long commands that run are waited for when the devices move to another engine.
	leaveTimeout = 5 * time.Second
	leaseCheck   = 50 * time.Millisecond
)

// Run makes this engine the owner of shared devices until ctx ends, and returns when nothing of that is left to do: an executor that
// ignores its context holds it up. epoch is higher than that of every owner before. valid reports whether this engine is still the owner;
// once it reports false, nothing is sent to devices or stored. It must be quick and safe for concurrent use.
//
// Commands that the owner before has left are Lost first, and ways that are reserved and latched emergency stops are as the store has them.
// Then open is called, which connects the executors that [Options.Executor] returns; their reports are taken from then on. If it fails, Run returns its
// error. Executors are to be disconnected when Run has returned. When ctx ends and valid still holds, commands that run have 5 s to end.
//
// A store that fails is tried again, as long as ctx lasts. An epoch that is not higher is [ErrNotOwner].
func (s *Service) Run(ctx context.Context, epoch uint64, valid func() bool, open func() error) error {
	if s.opts.Shared == nil {
		return fault.Option("devices", "Options.Shared", "is required")
	}
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		return errRunning
	}
	if s.closed.Load() {
		return ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	t := &tenure{epoch: epoch, valid: valid, opened: make(chan struct{})}
	m := s.role.Load().mirror
	if err := s.takeOver(ctx, t, m); err != nil || t.control == nil {
		return err
	}
	s.become(&role{tenure: t})
	m.end()
	s.opts.Logger.Info("this engine carries out the commands of devices", "epoch", epoch)
	if err := open(); err != nil {
		s.handBack(t, time.Now())
		return err
	}
	t.begin()
	close(t.opened)
	<-ctx.Done()
	s.handBack(t, time.Now().Add(leaveTimeout))
	return nil
}

// takeOver makes control of the devices. t has none afterwards if ctx has ended before.
func (s *Service) takeOver(ctx context.Context, t *tenure, m *mirror) error {
	seen, next := m.seen(t.epoch)
	for failures := 1; ; failures++ {
		err := s.load(ctx, t, next, seen)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrNotOwner):
			return err
		}
		if ctx.Err() == nil {
			s.opts.Logger.Warn("failed to take over the devices; retrying", "error", err)
		}
		if !backoff.Wait(ctx, backoff.Delay(50*time.Millisecond, time.Second, failures)) {
			return nil //nolint:nilerr // the end of ctx is no error
		}
	}
}

func (s *Service) load(ctx context.Context, t *tenure, next uint64, seen map[string]Device) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	store, err := s.shared.Fence(ctx, t.epoch)
	if err != nil {
		return err
	}
	c, err := newControl(ctx, guard(store, t.stands), s.opts, origin{first: next, seen: seen, valid: t.stands, stops: s.shared.Stops})
	if err != nil {
		return err
	}
	t.control = c
	return nil
}

// handBack ends a tenure. Commands that run are waited for until a time, as long as the tenure stands.
func (s *Service) handBack(t *tenure, until time.Time) {
	waiting, cancel := context.WithDeadline(context.Background(), until)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(leaseCheck)
		defer ticker.Stop()
		for t.stands() {
			select {
			case <-waiting.Done():
				return
			case <-ticker.C:
			}
		}
		cancel()
	}()
	if err := t.close(waiting, moving); err != nil {
		s.opts.Logger.Error("an executor does not return: the devices remain here until it does")
		t.drain(context.Background())
	}
	cancel()
	<-done
	t.over.Store(true)
	s.opts.Logger.Info("this engine carries out the commands of devices no longer", "epoch", t.epoch)
	t.mu.Lock()
	t.roll.retire()
	m := newMirror(t.sequence, t.epoch, s.opts.OnChange)
	for _, u := range t.units {
		e := &entry{Device: u.Device}
		m.entries[u.ID] = e
		m.insert(e)
	}
	t.mu.Unlock()
	if s.closed.Load() {
		m.end()
	}
	s.become(&role{mirror: m})
}

// become changes the role of this engine.
func (s *Service) become(r *role) {
	s.role.Store(r)
	s.roles.Send()
}

// Owner returns what carries out the calls of other engines here, with [ErrNotOwner] unless this engine has the devices.
func (s *Service) Owner() Owner { return owned{s} }

type owned struct{ s *Service }

func (o owned) Create(ctx context.Context, id, name, description string) (Device, error) {
	t := o.s.tenure()
	if t == nil {
		return Device{}, ErrNotOwner
	}
	d, err := t.Create(ctx, id, name, description)
	return d, o.s.moved(err)
}

func (o owned) Change(ctx context.Context, id string, e Event) (Device, error) {
	t := o.s.tenure()
	if t == nil {
		return Device{}, ErrNotOwner
	}
	d, err := t.Change(ctx, id, e)
	return d, o.s.moved(err)
}

func (o owned) Submit(ctx context.Context, c Command, by string) (Record, error) {
	t := o.s.ready()
	if t == nil {
		return Record{}, ErrNotOwner
	}
	j, err := t.accept(ctx, c, by, true)
	if err != nil {
		return Record{}, o.s.moved(err)
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if c.Type != EmergencyStop {
		cancel()
	}
	r, err := t.await(waiting, j)
	if !t.stands() && !r.Result.Success {
		return Record{}, ErrUnanswered.On("commandId", c.ID)
	}
	return r, err
}

func (o owned) Cancel(ctx context.Context, id, by string) (Record, error) {
	t := o.s.tenure()
	if t == nil {
		return Record{}, ErrNotOwner
	}
	j, err := t.cancelByID(ctx, id, by)
	if err != nil {
		return Record{}, o.s.moved(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return t.await(ended, j)
}

func (o owned) Report(_ context.Context, id string, r Telemetry) error {
	t := o.s.tenure()
	if t == nil {
		return ErrNotOwner
	}
	return t.Report(id, r)
}

func (o owned) Changes(ctx context.Context, after Position, limit int) ([]Device, Position, error) {
	t := o.s.tenure()
	if t == nil {
		return nil, after, ErrNotOwner
	}
	if after.Epoch != t.epoch {
		after = Position{Epoch: t.epoch}
	}
	waiting, cancel := context.WithTimeout(ctx, feedWait)
	defer cancel()
	found, next, err := t.changes(waiting, after.Sequence, limit)
	switch {
	case err == nil:
		return found, Position{t.epoch, next}, nil
	case errors.Is(err, errRetired):
		return nil, after, ErrNotOwner
	case ctx.Err() != nil:
		return nil, after, context.Cause(ctx)
	}
	return nil, after, nil
}

// moved returns the error of a call that this engine has carried out. Nothing was begun that came while the devices were moving.
func (s *Service) moved(err error) error {
	if s.opts.Shared != nil && errors.Is(err, ErrClosed) {
		return ErrNotOwner
	}
	return err
}

// spawn runs f, whose end Close waits for. It does not after Close.
func (s *Service) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.wg.Go(f)
	return true
}

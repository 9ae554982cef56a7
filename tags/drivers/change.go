package drivers

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Create stores a definition and starts the driver if it is enabled. Once it is stored, Create returns no error: a driver that cannot be
// started is returned with its error. If the id is in use, also by a driver of the settings or of another part, it returns ErrExists; if the
// definition is not valid, ErrInvalid with the fields.
func (s *Service) Create(ctx context.Context, def Definition) (Info, error) {
	leave, err := s.enter(ctx, def.ID)
	if err != nil {
		return Info{}, err
	}
	defer leave()
	if err := s.vacant(def.ID); err != nil {
		return Info{}, err
	}
	if err := s.unmasked(&def, nil); err != nil {
		return Info{}, err
	}
	built, known, err := s.build(&def)
	if err != nil {
		return Info{}, err
	}
	now := s.now()
	def.CreatedAt, def.UpdatedAt, def.Revision, def.Declared = now, now, now.UnixMicro(), false
	if err := s.repo.Insert(ctx, def); err != nil {
		return Info{}, s.reconcile(ctx, def.ID, err)
	}
	e := s.entry(def)
	e.err = s.run(e, built, known)
	s.put(def.ID, e)
	s.logChange("driver created", e)
	return s.Get(def.ID)
}

// vacant returns why there cannot be a new driver of an id.
func (s *Service) vacant(id string) error {
	for _, d := range s.host.Drivers() {
		if d.ID == id {
			return ErrExists.On("driverId", clip(id))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fixed[id] != nil || s.all[id] != nil:
		return ErrExists.On("driverId", clip(id))
	case len(s.all) >= s.opts.MaxDrivers:
		return ErrTooMany.Because("at most %d", s.opts.MaxDrivers)
	}
	return nil
}

// Update replaces a definition, and the driver that runs. Queued writes of the old one are sent first, or refused when Options.StopTimeout
// has passed. Tags keep their names, subscriptions and history. match returns whether the definition may be replaced, by its revision; nil
// allows any. A secret that is masked keeps its value. def.ID selects the driver, and its revision and times do not matter. If the driver
// is of the settings, Update returns ErrFromSettings, and ErrFromPart if it is of another part. A masked secret is refused where the
// driver gets another address: it is not to be sent there unless the caller knows it.
func (s *Service) Update(ctx context.Context, def Definition, match func(revision int64) error) (Info, error) {
	return s.UpdateIf(ctx, def, match, nil)
}

// UpdateIf is Update where fits is asked whether the tags may be replaced by those that the new settings define, once these are valid.
// It may be nil.
func (s *Service) UpdateIf(ctx context.Context, def Definition, match func(revision int64) error, fits func(known []tags.Tag) error) (Info, error) {
	return s.change(ctx, def.ID, match, fits, func(old Definition) (Definition, error) {
		return def, s.unmasked(&def, &old)
	})
}

// SetEnabled starts or stops a driver and stores that it is so. match is as in Update.
func (s *Service) SetEnabled(ctx context.Context, id string, enabled bool, match func(revision int64) error) (Info, error) {
	return s.change(ctx, id, match, nil, func(old Definition) (Definition, error) {
		old.Enabled = enabled
		return old, nil
	})
}

func sameType(s *Service, a, b string) bool {
	x, ok := s.types.Find(a)
	y, also := s.types.Find(b)
	return ok && also && x.Name == y.Name
}

// change replaces a definition by what edit makes of it.
func (s *Service) change(ctx context.Context, id string, match func(int64) error, fits func([]tags.Tag) error, edit func(Definition) (Definition, error)) (Info, error) {
	leave, err := s.enter(ctx, id)
	if err != nil {
		return Info{}, err
	}
	defer leave()
	old, err := s.own(ctx, id, match)
	if err != nil {
		return Info{}, err
	}
	def, err := edit(old.def)
	if err != nil {
		return Info{}, err
	}
	built, known, err := s.build(&def)
	if err == nil && fits != nil {
		err = fits(known)
	}
	if err != nil {
		return Info{}, err
	}
	def.Declared, def.CreatedAt, def.UpdatedAt = old.def.Declared, old.def.CreatedAt, s.now()
	def.Revision = max(old.def.Revision+1, def.UpdatedAt.UnixMicro())
	if err := s.repo.Update(ctx, def, old.def.Revision); err != nil {
		return Info{}, s.reconcile(ctx, id, err)
	}
	s.replace(ctx, old, def, built, known)
	return s.Get(id)
}

// replace lets a driver run as its new definition says. It is stored, so that the caller's context must not stop it half way.
func (s *Service) replace(ctx context.Context, old *entry, def Definition, built tags.Driver, known []tags.Tag) {
	e := s.entry(def)
	if old.driver != nil && runsAlike(&old.def, &def) {
		e.driver, e.points = old.driver, old.points
		s.put(def.ID, e)
		return
	}
	s.stop(ctx, old)
	e.err = s.run(e, built, known)
	s.put(def.ID, e)
	s.logChange("driver changed", e)
}

// runsAlike reports whether two definitions make the same driver, so that there is no need to interrupt it.
func runsAlike(a, b *Definition) bool {
	return a.Type == b.Type && a.Enabled == b.Enabled && a.IPAddress == b.IPAddress && a.Port == b.Port && a.PollInterval == b.PollInterval &&
		a.Timeout == b.Timeout && a.MaxBackoff == b.MaxBackoff && bytes.Equal(a.Settings, b.Settings)
}

// stop stops the driver of an entry, if it runs.
func (s *Service) stop(ctx context.Context, e *entry) {
	if e.driver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.StopTimeout)
	defer cancel()
	if err := s.host.StopDriver(ctx, e.def.ID); err != nil && !errors.Is(err, tags.ErrInvalidDriver) {
		s.opts.Logger.Warn("driver did not stop in time; queued writes were refused", "driver", e.def.ID, "error", err)
	}
}

// Delete removes a driver and the tags that its settings define. Configured tags stay, Bad with reason NoDriver, and so does the history.
// match is as in Update.
func (s *Service) Delete(ctx context.Context, id string, match func(revision int64) error) error {
	leave, err := s.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	old, err := s.own(ctx, id, match)
	if err != nil {
		return err
	}
	if err := s.repo.Delete(ctx, id, old.def.Revision); err != nil {
		return s.reconcile(ctx, id, err)
	}
	s.drop(ctx, old)
	s.opts.Logger.Info("driver removed", "driver", id)
	return nil
}

func (s *Service) drop(ctx context.Context, old *entry) {
	s.stop(ctx, old)
	s.host.ForgetTags(old.def.ID)
	s.put(old.def.ID, nil)
}

func (s *Service) known(id string) (e *entry, fixed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id], s.fixed[id] != nil
}

// own returns the stored driver of an id if it may be changed.
func (s *Service) own(ctx context.Context, id string, match func(int64) error) (*entry, error) {
	e, fixed := s.known(id)
	if e == nil && !fixed { // another engine may have created it a moment ago
		stored, err := s.repo.Get(ctx, id)
		switch {
		case err == nil:
			s.adopt(ctx, stored)
			e, _ = s.known(id)
		case !errors.Is(err, ErrNotFound):
			return nil, err
		}
	}
	switch {
	case fixed, e != nil && e.def.Declared:
		return nil, ErrFromSettings.On("driverId", clip(id))
	case e == nil:
		for _, d := range s.host.Drivers() {
			if d.ID == id {
				return nil, ErrFromPart.On("driverId", clip(id))
			}
		}
		return nil, ErrNotFound.On("driverId", clip(id))
	case match != nil:
		return e, match(e.def.Revision)
	}
	return e, nil
}

// reconcile is for a change that the repository has failed. It may have been stored all the same, such as when the connection to the
// database broke while it was committed: what the repository has is the truth. It returns err.
func (s *Service) reconcile(ctx context.Context, id string, err error) error {
	if f, ok := fault.From(err); ok && f.Kind != fault.Internal && f.Kind != fault.Unavailable && f.Kind != fault.Canceled && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrNotFound) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.StopTimeout)
	defer cancel()
	stored, get := s.repo.Get(ctx, id)
	switch {
	case errors.Is(get, ErrNotFound):
		if e, _ := s.known(id); e != nil {
			s.drop(ctx, e)
		}
	case get == nil:
		s.adopt(ctx, stored)
	}
	return err
}

// adopt lets a driver be as it is stored, if it is not yet. The caller has its turn.
func (s *Service) adopt(ctx context.Context, stored Definition) {
	switch e, _ := s.known(stored.ID); {
	case e == nil:
		s.put(stored.ID, s.begin(stored))
	case e.def.Revision == stored.Revision:
	case e.driver != nil && runsAlike(&e.def, &stored):
		next := s.entry(stored)
		next.driver, next.points = e.driver, e.points
		s.put(stored.ID, next)
	default:
		s.stop(ctx, e)
		s.put(stored.ID, s.begin(stored))
	}
}

func (s *Service) put(id string, e *entry) {
	s.mu.Lock()
	if s.all[id] = e; e == nil {
		delete(s.all, id)
	}
	s.mu.Unlock()
	s.opts.OnChange()
}

func (s *Service) logChange(text string, e *entry) {
	if e.err != nil {
		s.opts.Logger.Error(text+", but it cannot be started", "driver", e.def.ID, "type", e.def.Type, "error", e.err)
		return
	}
	s.opts.Logger.Info(text, "driver", e.def.ID, "type", e.def.Type, "enabled", e.def.Enabled)
}

// now returns the time as databases keep it.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// turn is held by the call that changes a driver.
type turn struct {
	held  chan struct{} // has one place
	users int           // that hold it or wait for it
}

// enter waits until no other call changes a driver.
func (s *Service) enter(ctx context.Context, id string) (leave func(), err error) {
	s.mu.Lock()
	t := s.turns[id]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		s.turns[id] = t
	}
	t.users++
	s.mu.Unlock()
	done := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.turns, id)
		}
	}
	select {
	case t.held <- struct{}{}:
		return func() { <-t.held; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}

package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/linked"
)

// follow takes over what other engines change, and tells them what this one does, until ctx ends.
func (s *Service) follow(ctx context.Context) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		err := s.followOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !s.sharing.failing:
			s.opts.Logger.Error("failed to follow the bridges of the plant; retrying", "error", err)
		case err == nil && s.sharing.failing:
			s.opts.Logger.Info("following the bridges of the plant resumed")
		}
		s.sharing.failing = err != nil
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) followOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	s.forgetLeases()
	return errors.Join(s.takeOver(ctx), s.introduce(ctx), s.load(ctx), s.saveReports(ctx))
}

// forgetLeases notes which bridges this engine does not look after any more.
func (s *Service) forgetLeases() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bridge {
		if b.lease != nil && s.leaseOf(b.DriverID) == nil {
			b.lease, b.link = nil, false
		}
	}
}

// leaseOf returns the lease of a driver if it stands.
func (s *Service) leaseOf(driverID string) *linked.Lease {
	if lease := s.sharing.plant.Lease(driverID); lease != nil && lease.Valid() {
		return lease
	}
	return nil
}

// takeOver begins to look after the bridges whose drivers have come to this engine.
func (s *Service) takeOver(ctx context.Context) (err error) {
	s.mu.Lock()
	leases := map[string]*linked.Lease{}
	for id, b := range s.bridge {
		lease := s.leaseOf(b.DriverID)
		if lease != nil && (b.attach || !b.has(lease)) {
			leases[id] = lease
		}
	}
	s.mu.Unlock()
	for id, lease := range leases {
		unlock, ok := s.tryLock(id)
		if !ok {
			continue // the next time
		}
		failed := s.claim(ctx, id, lease)
		if failed == nil {
			failed = s.attach(ctx, id)
		}
		unlock()
		if failed != nil && !errors.Is(failed, ErrNotBound) {
			err = failed
		}
	}
	return err
}

// attach lets the rest of the engine know that it looks after a bridge now.
func (s *Service) attach(ctx context.Context, bridgeID string) error {
	s.mu.Lock()
	known := s.bridge[bridgeID]
	if known == nil || !known.attach {
		s.mu.Unlock()
		return nil
	}
	known.attach = false
	b := known.clone()
	s.mu.Unlock()
	err := s.showStored(ctx, b)
	if err != nil {
		s.mu.Lock()
		known.attach = ctx.Err() != nil // else it is tried again when the link opens
		s.mu.Unlock()
	}
	return err
}

// introduce tells the other engines how this one is reached.
func (s *Service) introduce(ctx context.Context) error {
	own := Engine{ID: s.sharing.own, URLs: s.opts.URLs(), Pins: s.opts.Pins(), SeenAt: s.now()}
	was := &s.sharing.told
	if slices.Equal(own.URLs, was.URLs) && slices.Equal(own.Pins, was.Pins) && own.SeenAt.Sub(was.SeenAt).Abs() < tellInterval {
		return nil
	}
	err := s.sharing.store.SetEngine(ctx, own)
	if err == nil {
		s.sharing.told = own
	}
	return err
}

// load takes over what is stored, if it has changed.
func (s *Service) load(ctx context.Context) error {
	store := s.sharing.store
	version, err := store.Version(ctx)
	if err != nil || version == s.sharing.version {
		return err
	}
	all, err := store.Bindings(ctx)
	if err != nil {
		return err
	}
	engines, err := store.Engines(ctx)
	if err != nil {
		return err
	}
	done := true
	there := make(map[string]bool, len(all))
	for i := range all {
		there[all[i].BridgeID] = true
		done = s.mirror(ctx, &all[i]) && done
	}
	s.mu.Lock()
	s.sharing.engines = engines
	var gone []string
	for id := range s.bridge {
		if !there[id] {
			gone = append(gone, id)
		}
	}
	s.mu.Unlock()
	for _, id := range gone {
		done = s.removed(ctx, id) && done
	}
	if done {
		s.sharing.version = version
	}
	return ctx.Err()
}

// mirror takes over a binding, and reports whether it could: not while this engine is changing it.
func (s *Service) mirror(ctx context.Context, stored *Binding) bool {
	s.mu.Lock()
	known := s.bridge[stored.BridgeID]
	// What was read may be out of date by now. That does no harm where it is read again soon.
	simple := known != nil && s.busy[stored.BridgeID] == nil && known.ManifestHash == stored.ManifestHash &&
		(!s.owned(known) || known.BoundAt.Equal(stored.BoundAt))
	if simple {
		s.adopt(known, stored)
	}
	again := known != nil && known.DriverID != stored.DriverID // it was unbound and bound again
	s.mu.Unlock()
	switch {
	case simple:
		return true
	case again:
		s.removed(ctx, stored.BridgeID)
		return false
	}
	unlock, ok := s.tryLock(stored.BridgeID)
	if !ok {
		return false
	}
	defer unlock()
	_, err := s.learn(ctx, stored.BridgeID)
	return err == nil || errors.Is(err, ErrNotBound)
}

// adopt takes over what another engine has stored of a bridge. What this engine looks after it knows better, unless the bridge was bound again. s.mu is held.
func (s *Service) adopt(known *bridge, stored *Binding) {
	switch {
	case !s.owned(known):
		known.Binding = stored.clone()
	case !known.BoundAt.Equal(stored.BoundAt):
		known.Binding = stored.clone()
		known.renewed(s.now())
	}
}

// learn takes over a binding with its tags, as it is stored now. The bridge's change is held.
func (s *Service) learn(ctx context.Context, bridgeID string) (Binding, error) {
	stored, err := s.sharing.store.Binding(ctx, bridgeID)
	if err != nil {
		return Binding{}, err
	}
	s.mu.Lock()
	known := s.bridge[bridgeID]
	hash := ""
	if known == nil {
		known = s.take(stored)
		s.watch(known)
	} else {
		hash = known.ManifestHash
		s.adopt(known, &stored)
	}
	b := known.clone()
	s.mu.Unlock()
	if hash == b.ManifestHash {
		return b, nil
	}
	if err := s.showStored(ctx, b); err != nil && ctx.Err() == nil {
		s.opts.Logger.Error("failed to show a bridge", "bridge", bridgeID, "driver", b.DriverID, "error", err)
	}
	return b, ctx.Err()
}

// removed ends what there is of a bridge that another engine has unbound. It reports whether it could.
func (s *Service) removed(ctx context.Context, bridgeID string) bool {
	unlock, ok := s.tryLock(bridgeID)
	if !ok {
		return false
	}
	stored, err := s.sharing.store.Binding(ctx, bridgeID)
	known, here := s.get(bridgeID)
	if err != nil && !errors.Is(err, ErrNotBound) || !here || err == nil && stored.DriverID == known.DriverID {
		unlock()
		return err == nil || errors.Is(err, ErrNotBound)
	}
	s.opts.Logger.Info("bridge unbound by another engine", "bridge", bridgeID, "driver", known.DriverID)
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r == nil {
		unlock()
		return false
	}
	r.wg.Go(func() { // a driver that does not stop delays no other
		defer unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		defer cancel()
		s.drop(ctx, known)
	})
	return true
}

// saveReports tells the other engines what has changed of the bridges that this one looks after.
func (s *Service) saveReports(ctx context.Context) error {
	all := time.Since(s.sharing.saved) >= s.opts.Heartbeat // what changes all the time, of all of them together: the others read all of them again
	changed := map[string]Report{}
	s.mu.Lock()
	for id, b := range s.bridge {
		if s.owned(b) {
			if r := s.report(b); all || r.news(b.Report) {
				changed[id] = r
			}
		}
	}
	s.mu.Unlock()
	if len(changed) == 0 {
		return nil
	}
	if err := s.sharing.store.SetReports(ctx, changed); err != nil {
		return err
	}
	if all {
		s.sharing.saved = time.Now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, r := range changed {
		if b := s.bridge[id]; b != nil {
			b.Report = r
		}
	}
	return nil
}

// tryLock begins a change of a bridge's binding if there is none. Call the function that it returns to end it.
func (s *Service) tryLock(bridgeID string) (unlock func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[bridgeID] != nil {
		return nil, false
	}
	return s.hold(bridgeID), true
}

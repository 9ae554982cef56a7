package devices

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// watchSilence finds devices that are silent, whatever the store does.
func (s *control) watchSilence(ctx context.Context) {
	ticks := time.NewTicker(min(s.opts.StoreEvery, s.opts.OfflineAfter/2))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			s.findSilent()
		}
	}
}

// maintain stores what devices report and trims the journal.
func (s *control) maintain(ctx context.Context) {
	ticks := time.NewTicker(s.opts.StoreEvery)
	defer ticks.Stop()
	var trimmed time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.latched:
			s.storeLatches()
		case <-ticks.C:
			s.storeDevices(func(u *unit) bool { return u.changed != u.stored || u.StopLatched && !u.latched })
			if now := s.opts.Now(); now.Sub(trimmed) >= time.Hour {
				trimmed = now
				s.trim(ctx, now.Add(-s.opts.Retention))
			}
		}
	}
}

func (s *control) findSilent() {
	now := s.opts.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.units {
		if now.Sub(u.LastSeen).Abs() > s.opts.OfflineAfter { // below 0 after our clock was set back
			s.advance(u, Disconnected)
		}
	}
}

// storeDevices stores those devices that which selects; s.mu is held when it is called. What fails is tried again by maintain.
func (s *control) storeDevices(which func(*unit) bool) {
	ctx, done, err := s.write(s.storing)
	defer done()
	if err != nil {
		s.opts.Logger.Error("failed to store devices; retrying", "error", err)
		return
	}
	s.mu.Lock()
	var changed []unit
	for _, u := range s.units {
		if which(u) {
			changed = append(changed, unit{entry: entry{Device: u.Device, changed: u.changed}})
		}
	}
	s.mu.Unlock()
	for portion := range slices.Chunk(changed, 500) {
		err := s.storePortion(ctx, portion)
		if errors.Is(err, ErrNotOwner) {
			return
		}
		if err != nil {
			s.opts.Logger.Error("failed to store devices; retrying", "devices", len(changed), "error", err)
			return
		}
	}
}

func (s *control) storePortion(ctx context.Context, changed []unit) error {
	now := make(map[string]Device, len(changed))
	for _, c := range changed {
		now[c.ID] = c.Device
	}
	err := s.store.UpdateDevices(ctx, slices.Collect(maps.Keys(now)), func(stored *Device) {
		d := now[stored.ID]
		stored.State, stored.Held, stored.StopLatched, stored.LastSeen, stored.Telemetry = d.State, d.Held, d.StopLatched, d.LastSeen, d.Telemetry
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changed {
		s.units[c.ID].stored, s.units[c.ID].latched = c.changed, c.StopLatched
	}
	return nil
}

// trim removes old commands from a journal that can be trimmed.
func (s *control) trim(ctx context.Context, before time.Time) {
	trimmer, ok := s.store.(Trimmer)
	if !ok || s.opts.Retention <= 0 {
		return
	}
	const limit = 1000
	for removed := limit; removed == limit && ctx.Err() == nil; {
		var err error
		removed, err = func() (int, error) {
			ctx, cancel := context.WithTimeout(ctx, storeTimeout)
			defer cancel()
			return trimmer.TrimCommands(ctx, before, limit)
		}()
		if err != nil {
			s.opts.Logger.Error("failed to trim the journal of commands; retrying", "error", err)
			return
		}
	}
}

package discovery

import (
	"context"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/runes"
)

// Lost implements linked.Bindings. What is stored raises the alarm.
func (s *Service) Lost(ctx context.Context, bridgeID, epoch string, n, through uint64) error {
	s.opts.Logger.Warn("a bridge has dropped samples before they were delivered", "bridge", bridgeID, "samples", n)
	now, stored := s.now(), Binding{}
	fence, err := s.fence(bridgeID)
	if err == nil {
		err = s.store.UpdateAt(ctx, Position{BridgeID: bridgeID, Epoch: epoch, Through: through, Fence: fence}, func(b *Binding) error {
			b.lose(now, n, "")
			stored = b.clone()
			return nil
		})
	}
	if err == nil && stored.BridgeID == "" { // an attempt before this one was stored
		stored, err = s.stored(ctx, bridgeID)
	}
	if err != nil {
		return s.moved(bridgeID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.Lost, b.RecentlyLost, b.LostAt, b.LostText = stored.Lost, stored.RecentlyLost, stored.LostAt, stored.LostText
		b.reach(epoch, through)
	}
	return nil
}

// lose counts entries that were lost.
func (b *Binding) lose(now time.Time, n uint64, text string) {
	if !b.LosesAt(now) {
		b.RecentlyLost, b.LostText = 0, ""
	}
	b.Lost, b.RecentlyLost, b.LostAt = b.Lost+n, b.RecentlyLost+n, now
	if text != "" {
		b.LostText = text
	}
}

// maxSkew is how far ahead a stored time may be. One further ahead comes from a clock that was set back since.
const maxSkew = 5 * time.Minute

// LosesAt reports whether entries were lost within LossPause before now.
func (b *Binding) LosesAt(now time.Time) bool {
	since := now.Sub(b.LostAt)
	return since < LossPause && since > -maxSkew
}

// The kinds of events about the buffer of a bridge, see package bridge.
const (
	bufferDamaged  = "BufferDamaged"
	samplesDropped = "SamplesDropped"
)

// Event implements linked.Bindings.
func (s *Service) Event(ctx context.Context, bridgeID string, e link.Event) error {
	text := runes.Shorten(clean(e.Text), 1000)
	about := []any{"bridge", bridgeID, "kind", clean(e.Kind), "time", e.Time}
	if text != "" {
		about = append(about, "text", text)
	}
	s.opts.Logger.Info("event of a bridge", about...)
	switch e.Kind {
	case link.DriverOffline:
		return s.driverDown(ctx, bridgeID, e.Time, text)
	case link.DriverOnline:
		return s.driverUp(ctx, bridgeID, e.Time)
	case bufferDamaged, samplesDropped:
		now := s.now()
		return s.update(ctx, bridgeID, func(b *Binding) { b.lose(now, 0, text) })
	}
	return nil
}

func (s *Service) driverDown(ctx context.Context, bridgeID string, at time.Time, text string) error {
	b, ok := s.get(bridgeID)
	if !ok {
		return link.Refusal(s.opts.EngineID)
	}
	if !b.DriverDownAt.IsZero() {
		return nil
	}
	now := s.now()
	if at = at.UTC().Truncate(time.Microsecond); at.After(now) || at.IsZero() {
		at = now
	}
	if err := s.update(ctx, bridgeID, func(b *Binding) { b.DriverDownAt, b.DriverDownText = at, text }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.downSeen, b.downTold = time.Now(), false
	}
	return nil
}

func (s *Service) driverUp(ctx context.Context, bridgeID string, at time.Time) error {
	s.mu.Lock()
	known := s.bridge[bridgeID]
	if known == nil {
		s.mu.Unlock()
		return link.Refusal(s.opts.EngineID)
	}
	b, told := known.clone(), known.downTold
	s.mu.Unlock()
	if b.DriverDownAt.IsZero() {
		return nil
	}
	if now := s.now(); at.After(now) || at.IsZero() {
		at = now
	}
	if !told && s.journal != nil && at.Sub(b.DriverDownAt) >= DriverDownDelay {
		if err := s.journal.DriverWasDown(ctx, b, at.UTC().Truncate(time.Microsecond)); err != nil {
			return err
		}
	}
	return s.update(ctx, bridgeID, func(b *Binding) { b.DriverDownAt, b.DriverDownText = time.Time{}, "" })
}

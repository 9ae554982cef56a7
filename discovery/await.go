package discovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
)

// The times of a bridge that opens its link at an engine which does not have the lease. holdTime is less than link.HelloDeadline.
const (
	holdTime  = 8 * time.Second
	leaseLook = 50 * time.Millisecond
	// livingBeats is how often an engine that the bridge does not reach must say that it lives: once it may have died meanwhile.
	livingBeats = 2
	// askInterval keeps two bridges of one id from moving their driver all the time.
	askInterval = 5 * time.Second
)

// awaitLease waits until this engine or another one has the lease of a bridge's driver. It returns nil for an engine that is alone. If another engine has it,
// the error is a link.ErrElsewhere with its URL: unless the bridge does not reach that one, which leaves the driver to this one then.
func (s *Service) awaitLease(ctx context.Context, h *link.Hello) (*linked.Lease, error) {
	if s.sharing == nil {
		return nil, nil
	}
	b, err := s.known(ctx, h)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(leaseLook)
	defer ticker.Stop()
	asked := false
	var first Owner // as it was at the begin
	for began := time.Now(); ; {
		if lease := s.leaseOf(b.DriverID); lease != nil {
			s.keepDriver(b, asked)
			return lease, nil
		}
		owner, owned := s.sharing.plant.Owner(b.DriverID)
		if owner.Engine != first.Engine {
			first = owner
		}
		switch {
		case time.Since(began) >= holdTime:
			if asked {
				s.sharing.plant.Want(b.DriverID, false)
			}
			return nil, link.Elsewhere(owner.Engine, owner.URL)
		case asked, !owned, owner.Engine == s.sharing.own:
		case owner.Engine != h.Unreachable && owner.URL != "" && !slices.Contains(s.opts.URLs(), owner.URL):
			return nil, link.Elsewhere(owner.Engine, owner.URL)
		case owner.Engine != h.Unreachable || owner.Beat >= first.Beat+livingBeats: // the bridge cannot be sent there, or the network is between the two
			asked = s.askFor(b)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if asked {
				s.sharing.plant.Want(b.DriverID, false)
			}
			return nil, ctx.Err()
		}
	}
}

// known returns the binding of a bridge, if it has its key. What this engine knows may be out of date: only what is stored refuses a bridge, which makes it free.
func (s *Service) known(ctx context.Context, h *link.Hello) (Binding, error) {
	if b, ok := s.get(h.BridgeID); ok && b.admits(h) {
		return b, nil
	}
	unlock, err := s.lock(ctx, h.BridgeID)
	if err != nil {
		return Binding{}, err
	}
	defer unlock()
	stored, err := s.sharing.store.Binding(ctx, h.BridgeID)
	switch {
	case errors.Is(err, ErrNotBound):
		return Binding{}, link.Refusal(s.opts.EngineID)
	case err != nil:
		return Binding{}, err
	case !stored.admits(h):
		return Binding{}, link.Refusal(stored.EngineID)
	}
	return s.learn(ctx, h.BridgeID)
}

// askFor asks the others for the driver of a bridge, unless they were asked a moment ago.
func (s *Service) askFor(b Binding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.bridge[b.BridgeID]
	if known == nil || !known.asked.IsZero() && time.Since(known.asked) < askInterval {
		return false
	}
	known.asked = time.Now()
	s.opts.Logger.Info("a bridge does not reach the engine that runs its driver; asking for the driver", "bridge", b.BridgeID, "driver", b.DriverID)
	s.sharing.plant.Want(b.DriverID, true)
	return true
}

// keepDriver notes that the driver of a bridge is to stay at this engine as long as the link is open, if it was asked for.
func (s *Service) keepDriver(b Binding, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.bridge[b.BridgeID]; known != nil && asked {
		known.wanted = true
	}
}

// claimFor claims a bridge that opens its link. The bridge's change is held.
func (s *Service) claimFor(ctx context.Context, h *link.Hello, lease *linked.Lease) error {
	if b, ok := s.get(h.BridgeID); ok && !b.admits(h) { // another engine has just changed it
		if _, err := s.learn(ctx, h.BridgeID); err != nil && !errors.Is(err, ErrNotBound) {
			return err
		}
	}
	err := s.claim(ctx, h.BridgeID, lease)
	if !errors.Is(err, ErrNotBound) {
		return err
	}
	if _, err := s.sharing.store.Binding(ctx, h.BridgeID); errors.Is(err, ErrNotBound) {
		return link.Refusal(s.opts.EngineID)
	}
	return link.Elsewhere("", "") // it has another driver since
}

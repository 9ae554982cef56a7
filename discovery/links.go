package discovery

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
)

var _ linked.Bindings = (*Service)(nil)

// OpenLink implements linked.Bindings. A bridge that is just being bound waits until it is.
func (s *Service) OpenLink(ctx context.Context, h link.Hello) (linked.Grant, error) {
	if h.Epoch == "" || len(h.Epoch) > MaxIDBytes || clean(h.Epoch) != h.Epoch {
		return linked.Grant{}, link.ErrProtocol.Because("the epoch must be 1 to %d printable characters", MaxIDBytes)
	}
	lease, err := s.awaitLease(ctx, &h)
	if err != nil {
		return linked.Grant{}, err
	}
	unlock, err := s.lock(ctx, h.BridgeID)
	if err != nil {
		return linked.Grant{}, err
	}
	defer unlock()
	if lease != nil {
		if err := s.claimFor(ctx, &h, lease); err != nil {
			return linked.Grant{}, err
		}
	}
	b, ok := s.get(h.BridgeID)
	if !ok || !b.admits(&h) {
		return linked.Grant{}, link.Refusal(s.engineOf(h.BridgeID))
	}
	grant := linked.Grant{EngineID: b.EngineID, Reach: s.Reach(), Lease: lease, WantManifest: h.ManifestHash == "" || h.ManifestHash != b.ManifestHash}
	if b.Epoch == h.Epoch {
		grant.Position = b.Position
	}
	if h.Key != "" {
		return grant, s.prepare(ctx, b, grant.WantManifest)
	}
	if grant.Key = b.Key; grant.Key == "" {
		grant.Key = newKey()
		if err := s.update(ctx, b.BridgeID, func(b *Binding) { b.Key = grant.Key }); err != nil {
			return linked.Grant{}, err
		}
	}
	return grant, s.prepare(ctx, b, grant.WantManifest)
}

// admits reports whether a Hello has the key of the binding, or its token.
func (b *Binding) admits(h *link.Hello) bool {
	if h.Key != "" {
		return equal(h.Key, b.Key)
	}
	return equal(h.Token, b.Token)
}

// prepare shows the tags of a bridge whose link opens if they could not be shown before: without them its samples would wait.
func (s *Service) prepare(ctx context.Context, b Binding, wantManifest bool) error {
	s.mu.Lock()
	known := s.bridge[b.BridgeID]
	hidden := known != nil && known.hidden != ""
	if known != nil && !wantManifest { // it has the one that is stored again
		known.refused = ""
	}
	s.mu.Unlock()
	if !hidden {
		return nil
	}
	return s.showStored(ctx, b)
}

// ConfirmKey implements linked.Bindings.
func (s *Service) ConfirmKey(ctx context.Context, bridgeID string) error {
	b, ok := s.get(bridgeID)
	switch {
	case !ok:
		return link.Refusal(s.engineOf(bridgeID))
	case b.Token == "" && !b.LinkedAt.IsZero():
		return nil
	}
	now := s.now()
	return s.update(ctx, bridgeID, func(b *Binding) {
		b.Token = ""
		if b.LinkedAt.IsZero() {
			b.LinkedAt = now
		}
	})
}

// StorePosition implements linked.Bindings.
func (s *Service) StorePosition(ctx context.Context, bridgeID, epoch string, through uint64) error {
	fence, err := s.fence(bridgeID)
	if err == nil {
		err = s.store.SetPosition(ctx, Position{BridgeID: bridgeID, Epoch: epoch, Through: through, Fence: fence})
	}
	if err != nil {
		return s.moved(bridgeID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.reach(epoch, through)
	}
	return nil
}

// reach notes that a position is stored.
func (b *Binding) reach(epoch string, through uint64) {
	if b.Epoch != epoch || b.Position < through {
		b.Epoch, b.Position = epoch, through
	}
}

// UpdateManifest implements linked.Bindings.
func (s *Service) UpdateManifest(ctx context.Context, bridgeID string, m link.Manifest) error {
	err := s.updateManifest(ctx, bridgeID, m)
	if ctx.Err() == nil {
		s.setRefused(bridgeID, err)
	}
	return err
}

func (s *Service) setRefused(bridgeID string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		if b.refused = ""; err != nil {
			b.refused = messageOf(err, "its manifest cannot be stored or shown")
		}
	}
}

func (s *Service) updateManifest(ctx context.Context, bridgeID string, m link.Manifest) error {
	unlock, err := s.lock(ctx, bridgeID)
	if err != nil {
		return err
	}
	defer unlock()
	b, ok := s.get(bridgeID)
	switch {
	case !ok:
		return link.Refusal(s.engineOf(bridgeID))
	case m.BridgeID != bridgeID:
		return ErrMismatch
	case m.DriverID != b.DriverID:
		return ErrDriverChanged.Because("%q became %q", b.DriverID, clean(m.DriverID))
	}
	m.BindingToken = ""
	if err := checkManifest(m); err != nil {
		return err
	}
	if m.Hash() == b.ManifestHash {
		return nil
	}
	fence, err := s.fence(bridgeID)
	if err != nil {
		return err
	}
	s.opts.Logger.Info("manifest of a bridge changed", "bridge", bridgeID, "tags", len(m.Tags))
	return s.moved(bridgeID, s.setManifest(ctx, bridgeID, m, fence))
}

// setManifest stores a manifest and shows its tags.
func (s *Service) setManifest(ctx context.Context, bridgeID string, m link.Manifest, fence uint64) error {
	if err := s.store.SetManifest(ctx, bridgeID, m, fence); err != nil {
		return err
	}
	var taken Binding
	taken.TakeManifest(m) // not under the lock: with many tags it takes long
	s.mu.Lock()
	var b Binding
	if known := s.bridge[bridgeID]; known != nil {
		known.copyManifest(&taken)
		b = known.clone()
	}
	s.mu.Unlock()
	return s.show(ctx, b, m)
}

// LinkChanged implements linked.Bindings.
func (s *Service) LinkChanged(ctx context.Context, bridgeID string, open bool) error {
	now := s.now()
	s.mu.Lock()
	b := s.bridge[bridgeID]
	if b == nil {
		s.mu.Unlock()
		return link.Refusal(s.engineOf(bridgeID))
	}
	if b.link != open {
		if b.lasts() {
			b.lasted = time.Now()
		}
		b.link, b.since, b.changed, b.look = open, now, time.Now(), missedLimit
	}
	if b.wanted && !open {
		b.wanted = false
		s.sharing.plant.Want(b.DriverID, false)
	}
	was := b.Offline
	if s.owned(b) && (open || !b.released) {
		s.heard(b, now)
	}
	is := b.Offline
	s.mu.Unlock()
	if was && !is {
		s.storeOffline(ctx, bridgeID, false)
	}
	return nil
}

// Buffered implements linked.Bindings.
func (s *Service) Buffered(bridgeID string, waits link.Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bridge[bridgeID]; b != nil {
		b.buffer, b.bufferAt = &waits, s.now()
	}
}

// Released implements linked.Bindings.
func (s *Service) Released(ctx context.Context, bridgeID string) error {
	s.mu.Lock()
	b := s.bridge[bridgeID]
	if b == nil {
		s.mu.Unlock()
		return link.Refusal(s.opts.EngineID)
	}
	b.dead()
	s.mu.Unlock()
	s.opts.Logger.Warn("bridge was released at the bridge", "bridge", bridgeID)
	s.storeOffline(ctx, bridgeID, true)
	return nil
}

// dead notes that the bridge is free: it does not come back by itself. Service.mu is held.
func (b *bridge) dead() {
	b.released, b.Offline, b.missed, b.problem = true, true, missedLimit, errReleased.Error()
}

// engineOf returns the id by which a bridge knows the engine.
func (s *Service) engineOf(bridgeID string) string {
	if b, ok := s.get(bridgeID); ok {
		return b.EngineID
	}
	return s.opts.EngineID
}

// equal compares secrets in a time that does not depend on them. An empty secret equals nothing.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1 && a != ""
}

// newKey returns a session key of 256 bits.
func newKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return base64.RawURLEncoding.EncodeToString(key)
}

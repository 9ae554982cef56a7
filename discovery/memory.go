package discovery

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// Memory is a [Store] in memory, for tests and for programs whose bindings need not outlive them.
type Memory struct {
	mu        sync.Mutex
	bindings  map[string]Binding
	manifests map[string]link.Manifest
	positions map[string]Position
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{bindings: map[string]Binding{}, manifests: map[string]link.Manifest{}, positions: map[string]Position{}}
}

// AddBinding implements [Store].
func (m *Memory) AddBinding(_ context.Context, b Binding, manifest link.Manifest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bindings[b.BridgeID]; ok {
		return ErrAlreadyBound.On("bridgeId", b.BridgeID)
	}
	for _, other := range m.bindings {
		if other.DriverID == b.DriverID {
			return ErrDriverTaken.On("driverId", b.DriverID)
		}
	}
	m.bindings[b.BridgeID] = b.clone()
	m.setManifest(b.BridgeID, manifest)
	return nil
}

// UpdateBinding implements [Store].
func (m *Memory) UpdateBinding(_ context.Context, bridgeID string, change func(*Binding) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.update(bridgeID, change)
}

// UpdateAt implements [Store].
func (m *Memory) UpdateAt(_ context.Context, p Position, change func(*Binding) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bindings[p.BridgeID]; !ok {
		return ErrNotBound.On("bridgeId", p.BridgeID)
	}
	if was := m.positions[p.BridgeID]; was.Epoch == p.Epoch && was.Through >= p.Through {
		return nil
	}
	if err := m.update(p.BridgeID, change); err != nil {
		return err
	}
	m.positions[p.BridgeID] = p
	return nil
}

// update changes a binding. The lock is held.
func (m *Memory) update(bridgeID string, change func(*Binding) error) error {
	was, ok := m.bindings[bridgeID]
	if !ok {
		return ErrNotBound.On("bridgeId", bridgeID)
	}
	is := was.clone()
	if err := change(&is); err != nil {
		return err
	}
	is.BridgeID, is.DriverID, is.EngineID = was.BridgeID, was.DriverID, was.EngineID
	is.DriverType, is.ManifestHash, is.TagCount, is.ActiveSubmodels = was.DriverType, was.ManifestHash, was.TagCount, was.ActiveSubmodels
	m.bindings[bridgeID] = is.clone()
	return nil
}

// RemoveBinding implements [Store].
func (m *Memory) RemoveBinding(_ context.Context, bridgeID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bindings[bridgeID]; !ok {
		return ErrNotBound.On("bridgeId", bridgeID)
	}
	delete(m.bindings, bridgeID)
	delete(m.manifests, bridgeID)
	return nil
}

// Bindings implements [Store].
func (m *Memory) Bindings(context.Context) ([]Binding, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Binding, 0, len(m.bindings))
	for id, b := range m.bindings {
		b = b.clone()
		p := m.positions[id]
		b.Epoch, b.Position = p.Epoch, p.Through
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b Binding) int { return cmp.Compare(a.BridgeID, b.BridgeID) })
	return all, nil
}

// Manifest implements [Store].
func (m *Memory) Manifest(_ context.Context, bridgeID string) (link.Manifest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	manifest, ok := m.manifests[bridgeID]
	if !ok {
		return link.Manifest{}, ErrNotBound.On("bridgeId", bridgeID)
	}
	return manifest, nil
}

// SetManifest implements [Store].
func (m *Memory) SetManifest(_ context.Context, bridgeID string, manifest link.Manifest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bindings[bridgeID]; !ok {
		return ErrNotBound.On("bridgeId", bridgeID)
	}
	m.setManifest(bridgeID, manifest)
	return nil
}

func (m *Memory) setManifest(bridgeID string, manifest link.Manifest) {
	manifest.BindingToken = ""
	m.manifests[bridgeID] = manifest
	b := m.bindings[bridgeID]
	b.TakeManifest(manifest)
	m.bindings[bridgeID] = b
}

// SetPosition implements [Store].
func (m *Memory) SetPosition(_ context.Context, p Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was := m.positions[p.BridgeID]; was.Epoch != p.Epoch || was.Through < p.Through {
		m.positions[p.BridgeID] = p
	}
	return nil
}

// SetHeartbeats implements [Store].
func (m *Memory) SetHeartbeats(_ context.Context, at map[string]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, t := range maps.All(at) {
		if b, ok := m.bindings[id]; ok {
			b.HeartbeatAt = t
			m.bindings[id] = b
		}
	}
	return nil
}

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
	plant     string
	version   int64
	engines   map[string]Engine
}

var _ SharedStore = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{bindings: map[string]Binding{}, manifests: map[string]link.Manifest{}, positions: map[string]Position{}, engines: map[string]Engine{}}
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
	b = b.clone()
	b.Report = Report{}
	m.bindings[b.BridgeID] = b
	m.setManifest(b.BridgeID, manifest)
	p := m.positions[b.BridgeID]
	p.Fence = 0
	m.positions[b.BridgeID] = p
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
	was := m.positions[p.BridgeID]
	switch {
	case late(was, p.Fence):
		return ErrLate.On("bridgeId", p.BridgeID)
	case was.Epoch == p.Epoch && was.Through >= p.Through:
		return nil
	}
	if err := m.update(p.BridgeID, change); err != nil {
		return err
	}
	p.Fence = was.Fence
	m.positions[p.BridgeID] = p
	return nil
}

// late reports whether whoever has a fence may not change a position.
func late(was Position, fence uint64) bool { return fence != 0 && fence != was.Fence }

// update changes a binding. The lock is held.
func (m *Memory) update(bridgeID string, change func(*Binding) error) error {
	was, ok := m.bindings[bridgeID]
	if !ok {
		return ErrNotBound.On("bridgeId", bridgeID)
	}
	is := m.placed(was)
	if err := change(&is); err != nil {
		return err
	}
	is.BridgeID, is.DriverID, is.EngineID, is.Report = was.BridgeID, was.DriverID, was.EngineID, was.Report
	is.DriverType, is.ManifestHash, is.TagCount, is.ActiveSubmodels = was.DriverType, was.ManifestHash, was.TagCount, was.ActiveSubmodels
	m.bindings[bridgeID] = is.clone()
	m.version++
	return nil
}

// placed returns a copy of a binding with its position. The lock is held.
func (m *Memory) placed(b Binding) Binding {
	b = b.clone()
	p := m.positions[b.BridgeID]
	b.Epoch, b.Position, b.Fence = p.Epoch, p.Through, p.Fence
	return b
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
	m.version++
	return nil
}

// Bindings implements [Store].
func (m *Memory) Bindings(context.Context) ([]Binding, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Binding, 0, len(m.bindings))
	for _, b := range m.bindings {
		all = append(all, m.placed(b))
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
func (m *Memory) SetManifest(_ context.Context, bridgeID string, manifest link.Manifest, fence uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bindings[bridgeID]; !ok {
		return ErrNotBound.On("bridgeId", bridgeID)
	}
	if late(m.positions[bridgeID], fence) {
		return ErrLate.On("bridgeId", bridgeID)
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
	m.version++
}

// SetPosition implements [Store].
func (m *Memory) SetPosition(_ context.Context, p Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.positions[p.BridgeID]
	if late(was, p.Fence) {
		return ErrLate.On("bridgeId", p.BridgeID)
	}
	if was.Epoch != p.Epoch || was.Through < p.Through {
		p.Fence = was.Fence
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
			m.version++
		}
	}
	return nil
}

// PlantID implements [SharedStore].
func (m *Memory) PlantID(_ context.Context, id string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plant = cmp.Or(m.plant, id)
	return m.plant, nil
}

// Version implements [SharedStore].
func (m *Memory) Version(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version, nil
}

// Binding implements [SharedStore].
func (m *Memory) Binding(_ context.Context, bridgeID string) (Binding, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bindings[bridgeID]
	if !ok {
		return Binding{}, ErrNotBound.On("bridgeId", bridgeID)
	}
	return m.placed(b), nil
}

// Claim implements [SharedStore].
func (m *Memory) Claim(_ context.Context, bridgeID, driverID string, epoch uint64) (Binding, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.bindings[bridgeID]
	if !ok || b.DriverID != driverID {
		return Binding{}, ErrNotBound.On("bridgeId", bridgeID)
	}
	p := m.positions[bridgeID]
	if p.Fence > epoch {
		return Binding{}, ErrLate.On("bridgeId", bridgeID)
	}
	p.BridgeID, p.Fence = bridgeID, epoch
	m.positions[bridgeID] = p
	return m.placed(b), nil
}

// SetReports implements [SharedStore].
func (m *Memory) SetReports(_ context.Context, reports map[string]Report) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, r := range reports {
		if b, ok := m.bindings[id]; ok && b.Report.Epoch <= r.Epoch {
			b.Report = r
			m.bindings[id] = b
			m.version++
		}
	}
	return nil
}

// SetEngine implements [SharedStore].
func (m *Memory) SetEngine(_ context.Context, e Engine) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.engines[e.ID] = e.clone()
	m.version++
	return nil
}

// Engines implements [SharedStore].
func (m *Memory) Engines(context.Context) (all []Engine, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(m.engines)) {
		e := m.engines[id]
		all = append(all, e.clone())
	}
	return all, nil
}

func (e *Engine) clone() Engine {
	c := *e
	c.URLs, c.Pins = slices.Clone(e.URLs), slices.Clone(e.Pins)
	return c
}

package devices

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [SharedStore] in memory, for tests and for programs whose devices need not outlive them.
type Memory struct {
	mu       sync.Mutex
	devices  map[string]Device
	commands map[string]Record

	fence sync.RWMutex // held by writes of an owner
	epoch uint64       // of the last Fence
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{devices: map[string]Device{}, commands: map[string]Record{}}
}

// AddDevice implements [Store].
func (m *Memory) AddDevice(_ context.Context, d Device) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.devices[d.ID]; ok {
		return ErrExists.On("deviceId", d.ID)
	}
	m.devices[d.ID] = d
	return nil
}

// UpdateDevice implements [Store].
func (m *Memory) UpdateDevice(_ context.Context, id string, change func(*Device) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.devices[id]
	if !ok {
		return ErrNotFound.On("deviceId", id)
	}
	if err := change(&d); err != nil {
		return err
	}
	m.devices[id] = d
	return nil
}

// UpdateDevices implements [Store].
func (m *Memory) UpdateDevices(_ context.Context, ids []string, change func(*Device)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if d, ok := m.devices[id]; ok {
			change(&d)
			m.devices[id] = d
		}
	}
	return nil
}

// Devices implements [Store].
func (m *Memory) Devices(context.Context) ([]Device, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.devices), func(a, b Device) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// AddCommand implements [Store].
func (m *Memory) AddCommand(_ context.Context, r Record) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stored, ok := m.commands[r.ID]; ok {
		return stored, false, nil
	}
	m.commands[r.ID] = r
	return r, true, nil
}

// UpdateCommand implements [Store].
func (m *Memory) UpdateCommand(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.commands[r.ID]
	if !ok {
		return ErrNoCommand.On("commandId", r.ID)
	}
	if !stored.Phase.Ended() {
		stored.Phase, stored.Result, stored.Decision, stored.Path, stored.BeganAt = r.Phase, r.Result, r.Decision, r.Path, r.BeganAt
		m.commands[r.ID] = stored
	}
	return nil
}

// Commands implements [Store].
func (m *Memory) Commands(_ context.Context, q CommandQuery) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Record
	for _, r := range m.commands {
		if q.matches(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b Record) int {
		return cmp.Or(b.IssuedAt.Compare(a.IssuedAt), cmp.Compare(b.ID, a.ID))
	})
	return found[:min(len(found), q.Limit)], nil
}

// LastMoves implements [Store].
func (m *Memory) LastMoves(context.Context) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := map[string]Record{}
	for _, r := range m.commands {
		if r.Path != nil && r.Phase != Failed && r.BeganAt.After(last[r.DeviceID].BeganAt) {
			last[r.DeviceID] = r
		}
	}
	return slices.Collect(maps.Values(last)), nil
}

// TrimCommands implements [Trimmer].
func (m *Memory) TrimCommands(_ context.Context, before time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var old []Record
	for _, r := range m.commands {
		if r.Phase.Ended() && r.IssuedAt.Before(before) {
			old = append(old, r)
		}
	}
	slices.SortFunc(old, func(a, b Record) int { return a.IssuedAt.Compare(b.IssuedAt) })
	old = old[:min(len(old), limit)]
	for _, r := range old {
		delete(m.commands, r.ID)
	}
	return len(old), nil
}

// Stops implements [SharedStore].
func (m *Memory) Stops(context.Context) (found []Record, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.commands {
		if r.Type == EmergencyStop && !r.Phase.Ended() {
			found = append(found, r)
		}
	}
	return found, nil
}

// Fence implements [SharedStore].
func (m *Memory) Fence(_ context.Context, epoch uint64) (Store, error) {
	m.fence.Lock()
	defer m.fence.Unlock()
	if epoch < m.epoch {
		return nil, ErrNotOwner
	}
	m.epoch = epoch
	return fencedMemory{m, epoch}, nil
}

// fencedMemory is the store of an owner.
type fencedMemory struct {
	*Memory
	epoch uint64
}

func (f fencedMemory) during(write func() error) error {
	f.fence.RLock()
	defer f.fence.RUnlock()
	if f.epoch != f.Memory.epoch {
		return ErrNotOwner
	}
	return write()
}

func (f fencedMemory) AddDevice(ctx context.Context, d Device) error {
	return f.during(func() error { return f.Memory.AddDevice(ctx, d) })
}

func (f fencedMemory) UpdateDevice(ctx context.Context, id string, change func(*Device) error) error {
	return f.during(func() error { return f.Memory.UpdateDevice(ctx, id, change) })
}

func (f fencedMemory) UpdateDevices(ctx context.Context, ids []string, change func(*Device)) error {
	return f.during(func() error { return f.Memory.UpdateDevices(ctx, ids, change) })
}

func (f fencedMemory) AddCommand(ctx context.Context, r Record) (stored Record, added bool, err error) {
	err = f.during(func() error {
		stored, added, err = f.Memory.AddCommand(ctx, r)
		return err
	})
	return stored, added, err
}

func (f fencedMemory) UpdateCommand(ctx context.Context, r Record) error {
	return f.during(func() error { return f.Memory.UpdateCommand(ctx, r) })
}

func (f fencedMemory) TrimCommands(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = f.during(func() error {
		removed, err = f.Memory.TrimCommands(ctx, before, limit)
		return err
	})
	return removed, err
}

func (q CommandQuery) matches(r Record) bool {
	return (q.ID == "" || q.ID == r.ID) && (q.DeviceID == "" || q.DeviceID == r.DeviceID) && (!q.Unfinished || !r.Phase.Ended()) &&
		(q.Before.IsZero() || r.IssuedAt.Before(q.Before) || q.BeforeID != "" && r.IssuedAt.Equal(q.Before) && r.ID < q.BeforeID)
}

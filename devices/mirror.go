package devices

import (
	"context"
	"sync"
	"time"
)

// mirror has the devices as another engine, the owner, has reported them.
type mirror struct {
	onChange func(Device) // may be nil

	mu      sync.Mutex
	roll    // of the devices
	entries map[string]*entry
	heard   time.Time // when the owner answered last
	epoch   uint64    // of the owner that did
	lost    bool      // it is not heard
}

// newMirror returns a mirror whose positions begin after first. epoch is that of the owner whose devices are inserted; 0: none.
func newMirror(first, epoch uint64, onChange func(Device)) *mirror {
	m := &mirror{onChange: onChange, entries: map[string]*entry{}, heard: time.Now(), epoch: epoch}
	m.sequence = first
	return m
}

func (m *mirror) get(id string) (Device, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[id]
	if e == nil {
		return Device{}, false
	}
	return e.Device, true
}

func (m *mirror) list() []Device {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Device, 0, len(m.entries))
	for _, e := range m.entries {
		all = append(all, e.Device)
	}
	return all
}

func (m *mirror) changes(ctx context.Context, after uint64, limit int) ([]Device, uint64, error) {
	return m.wait(ctx, &m.mu, after, limit)
}

// answered takes what the owner with an epoch has answered.
func (m *mirror) answered(list []Device, epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard, m.lost, m.epoch = time.Now(), false, epoch
	for i := range list {
		m.set(list[i])
	}
}

// changed takes a device as the owner has changed it.
func (m *mirror) changed(d Device) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(d)
}

// stored takes devices from the store while the owner is not heard.
func (m *mirror) stored(list []Device) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = true
	for i := range list {
		list[i].doubt()
		m.set(list[i])
	}
}

// silent marks the devices if the owner has not been heard for some time, and reports for how long it has not.
func (m *mirror) silent() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	since := time.Since(m.heard)
	if since < ownerSilence || m.lost {
		return since
	}
	m.lost = true
	for _, e := range m.entries {
		d := e.Device
		d.doubt()
		m.set(d)
	}
	return since
}

// set takes a device. m.mu is held.
func (m *mirror) set(d Device) {
	e := m.entries[d.ID]
	changed := e == nil || e.State != d.State || e.StopLatched != d.StopLatched
	if e == nil {
		e = &entry{Device: d}
		m.entries[d.ID] = e
		m.insert(e)
	} else {
		e.Device = d
		m.touch(e)
	}
	if changed && m.onChange != nil {
		m.onChange(d)
	}
}

// maxMeanwhile is how many changes a mirror may have while this engine takes over.
const maxMeanwhile = 1 << 20

// seen returns a position after those that the mirror has and will have, and its devices if they are of the owner before epoch: they may be newer than the
// stored ones. Those of an earlier owner, whose clock may be ahead, are not.
func (m *mirror) seen(epoch uint64) (devices map[string]Device, next uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch+1 == epoch {
		devices = make(map[string]Device, len(m.entries))
		for id, e := range m.entries {
			devices[id] = e.Device
		}
	}
	return devices, m.sequence + maxMeanwhile
}

// end lets those who wait for changes look elsewhere.
func (m *mirror) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retire()
}

// doubt marks a device whose owner is not heard. What a person has decided is known from the store.
func (d *Device) doubt() {
	d.Unheard = true
	switch d.State {
	case Provisioned, Decommissioned:
	case Maintenance:
		if !d.Held {
			d.State = Unknown
		}
	default:
		d.State = Unknown
	}
}

const (
	// ownerSilence is how long the owner may be silent before its devices are Unheard.
	ownerSilence = 2 * time.Second
	// feedInterval is how often changes are asked for, at most, feedWait how long the owner waits for some, feedTimeout how long its answer is
	// waited for, and feedLimit how many changes it has.
	feedInterval = 100 * time.Millisecond
	feedWait     = 500 * time.Millisecond
	feedTimeout  = time.Second
	feedLimit    = 500
	// storeInterval is how often the store is read while the owner is not heard, the first time after that time.
	storeInterval = 10 * time.Second
)

// Follow takes over, until ctx ends, what the owner of shared devices reports of them. While the owner is not heard, the devices are
// [Device.Unheard], and what the store has of them. It does nothing while this engine is the owner.
func (s *Service) Follow(ctx context.Context) {
	for ctx.Err() == nil && !s.closed.Load() {
		changed := s.roles.C()
		if m := s.role.Load().mirror; m != nil {
			s.follow(ctx, m)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// follow asks the owner for changes until this engine is it, or ctx ends.
func (s *Service) follow(ctx context.Context, m *mirror) {
	changed := s.roles.C()
	after, read := Position{}, time.Now()
	for s.role.Load().mirror == m && !s.closed.Load() {
		asking, cancel := context.WithTimeout(ctx, feedTimeout)
		list, next, err := s.opts.Shared.Owner.Changes(asking, after, feedLimit)
		cancel()
		if err == nil {
			m.answered(list, next.Epoch)
			after = next
		} else if since := m.silent(); since >= ownerSilence {
			after = Position{}
			if since >= storeInterval && time.Since(read) >= storeInterval {
				read = time.Now()
				s.readStore(ctx, m)
			}
		}
		select {
		case <-time.After(feedInterval):
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) readStore(ctx context.Context, m *mirror) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if all, err := s.store.Devices(ctx); err == nil {
		m.stored(all)
	}
}

package mirror

import (
	"context"
	"encoding/json"
	"time"

	"github.com/otkit/otkit/tags"
)

// source is what is known of a driver that another engine runs.
type source struct {
	epoch uint64
	seq   uint64
	at    time.Time // when something came
	// whole is set when all samples have come since the beginning of the epoch or the last gap.
	whole bool
	begun bool      // all samples are coming
	lost  bool      // nothing came for so long that the values are doubted
	asked time.Time // when they were
	// unknown is set when samples came that this engine had no tags for; they are asked for when it has others than then.
	unknown  bool
	driver   bool   // it had the driver then
	revision uint64 // of its tags then
}

// maxNames bounds the names of tags that are kept to be used again.
const maxNames = 1 << 20

// receive takes over a message of another engine.
func (m *Mirror) receive(data []byte) {
	m.receiving.Lock()
	defer m.receiving.Unlock()
	r := &reader{b: data}
	if r.byte() != version {
		return // of an engine of another version, in the middle of an update
	}
	engine := r.bytes()
	for len(r.b) > 0 && !r.bad {
		k := r.block()
		if r.bad {
			break
		}
		m.receiveBlock(r, &k)
	}
	if r.bad {
		m.opts.Logger.Warn("message of another engine is malformed", "engine", string(engine), "bytes", len(data))
	}
}

func (m *Mirror) receiveBlock(r *reader, k *block) {
	current := m.note(k)
	if k.flags&flagStatus != 0 {
		text := r.bytes()
		if r.byte() != endOfBlock {
			r.bad = true
		}
		var s tags.DriverStatus
		if current && !r.bad && json.Unmarshal(text, &s) == nil {
			m.engine.Report(k.driver, s)
		}
		return
	}
	list := m.scratch[:0]
	for r.byte() == nextSample && !r.bad {
		name := m.name(r.bytes())
		s := r.sample(k.base)
		s.Tag = name
		if !r.bad {
			list = append(list, s)
		}
	}
	if current && len(list) > 0 { // also the good part of a message that is not whole
		revision, has := m.engine.Revision(), m.engine.HasDriver(k.driver)
		if m.engine.Apply(k.driver, list) {
			m.mu.Lock()
			if s := m.heard[k.driver]; s != nil && !s.unknown {
				s.unknown, s.revision, s.driver = true, revision, has
			}
			m.mu.Unlock()
		}
	}
	clear(list)
	m.scratch = list[:0]
}

// name returns the name of a tag without making a text of it each time.
func (m *Mirror) name(b []byte) string {
	if s, ok := m.names[string(b)]; ok {
		return s
	}
	if len(m.names) >= maxNames {
		clear(m.names)
	}
	s := string(b)
	m.names[s] = s
	return s
}

// note takes down that a block came, and reports whether it is to be taken over: it is not of an engine that has lost the driver.
func (m *Mirror) note(k *block) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.heard[k.driver]
	if s == nil {
		s = &source{}
		m.heard[k.driver] = s
	}
	switch {
	case k.epoch < s.epoch, k.epoch == s.epoch && k.seq <= s.seq:
		return false
	case k.epoch > s.epoch:
		*s = source{epoch: k.epoch}
	case k.seq != s.seq+1:
		s.whole, s.begun = false, false
	}
	if s.lost { // their quality has to come again
		s.lost, s.whole = false, false
	}
	s.seq, s.at = k.seq, time.Now()
	switch {
	case k.flags&flagFirst != 0:
		s.begun = true
	case k.flags&flagLast != 0 && s.begun:
		s.begun, s.whole = false, true
	}
	return true
}

// watch asks for what is missing and doubts what is silent, until ctx ends.
func (m *Mirror) watch(ctx context.Context) {
	ticker := time.NewTicker(min(100*time.Millisecond, m.opts.Timeout/4))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		missing, silent := m.look(time.Now())
		if len(missing) > 0 {
			if text, err := json.Marshal(missing); err == nil {
				_ = m.bus.Publish(subjectResend, text) // it is asked for again
			}
		}
		for _, driver := range silent {
			m.engine.Report(driver, tags.DriverStatus{State: tags.DriverStopped, LastError: "nothing is heard of the engine that runs the driver"})
		}
	}
}

// maxMissing bounds a message that asks for drivers.
const maxMissing = 1000

// look returns the drivers whose samples have not all come, and those of which nothing is heard any more.
func (m *Mirror) look(now time.Time) (missing, silent []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	revision := m.engine.Revision()
	for driver, s := range m.heard {
		if s.unknown && (s.revision != revision || !s.driver && m.engine.HasDriver(driver)) {
			s.unknown, s.whole = false, false
		}
		switch {
		case m.owned[driver] != nil || s.lost:
		case now.Sub(s.at) >= m.opts.Timeout:
			s.lost = true
			silent = append(silent, driver)
		case !s.whole && !s.begun && now.Sub(s.asked) >= 2*resendInterval && len(missing) < maxMissing:
			s.asked = now
			missing = append(missing, driver)
		}
	}
	return missing, silent
}

// Lag returns how long ago something was heard of a driver that another engine runs; ok is false if nothing ever was, or if it is run here.
func (m *Mirror) Lag(driver string) (lag time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.heard[driver]
	if s == nil || s.at.IsZero() || m.owned[driver] != nil {
		return 0, false
	}
	return time.Since(s.at), true
}

// Forget drops what is known of a driver that is removed.
func (m *Mirror) Forget(driver string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.heard, driver)
}

package mirror

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/tags"
)

// publisher is a driver that is run here.
type publisher struct {
	driver string
	epoch  uint64
	seq    uint64              // of the last message
	dirty  map[string]struct{} // names of tags that have changed since then
	spare  map[string]struct{} // empty, to take turns with dirty
	resend bool                // all samples are to be sent
	sent   time.Time           // when they were last
	beat   time.Time           // of the last report
	begun  time.Time
	seqs   [maxLate]uint64 // at the last reports, oldest first
}

// resendInterval is the least time between two times that all samples of a driver are sent.
const resendInterval = 500 * time.Millisecond

// Begin publishes the changes of a driver from now on: call it before the driver is run here, with the epoch of its lease, and end when it is not any more.
func (m *Mirror) Begin(driver string, epoch uint64) (end func()) {
	p := &publisher{driver: driver, epoch: epoch, dirty: map[string]struct{}{}, spare: map[string]struct{}{}, resend: true, begun: time.Now()}
	// Under the epoch of the last time, the others ignore numbers up to that of its last message: there were fewer messages than microseconds.
	p.seq = uint64(p.begun.Sub(m.made).Microseconds())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned[driver] = p
	s := m.heard[driver]
	if s == nil {
		s = &source{}
		m.heard[driver] = s
	}
	s.epoch = max(s.epoch, epoch)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.owned[driver] == p {
			delete(m.owned, driver)
		}
		*s = source{epoch: s.epoch, at: time.Now()} // the next engine has so long to report
	}
}

// observe collects the changes of drivers that are run here.
func (m *Mirror) observe(changes []tags.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.alone {
		return // all samples are sent to the first that comes
	}
	var p *publisher
	for i := range changes {
		c := &changes[i]
		if c.Remote || c.Late {
			continue
		}
		if p == nil || p.driver != c.Tag.Driver {
			if p = m.owned[c.Tag.Driver]; p == nil {
				continue
			}
		}
		p.dirty[c.Tag.Name] = struct{}{}
	}
}

// resend notes that others ask for all samples of drivers.
func (m *Mirror) resend(data []byte) {
	var drivers []string
	if json.Unmarshal(data, &drivers) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, driver := range drivers {
		if p := m.owned[driver]; p != nil {
			p.resend = true
		}
	}
}

// publish sends what has changed until ctx ends.
func (m *Mirror) publish(ctx context.Context) {
	ticker := time.NewTicker(m.opts.Interval)
	defer ticker.Stop()
	w := &writer{m: m}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		alone := !m.opts.Others()
		m.mu.Lock()
		m.alone = alone
		list := make([]*publisher, 0, len(m.owned))
		for _, p := range m.owned {
			if alone {
				clear(p.dirty)
				p.resend = true // for the first that comes
				continue
			}
			list = append(list, p)
		}
		m.mu.Unlock()
		now := time.Now()
		for _, p := range list {
			m.publishOne(w, p, now)
		}
		w.flush()
	}
}

// publishOne writes what is to be sent of a driver. It is called by one goroutine alone.
func (m *Mirror) publishOne(w *writer, p *publisher, now time.Time) {
	m.mu.Lock()
	all := p.resend && now.Sub(p.sent) >= resendInterval
	if all {
		p.resend = false
	}
	changed := p.dirty
	p.dirty, p.spare = p.spare, changed
	due := now.Sub(p.beat) >= m.opts.Heartbeat
	if due {
		p.beat = now
		copy(p.seqs[:], p.seqs[1:])
		p.seqs[maxLate-1] = p.seq
	}
	m.mu.Unlock()
	if due {
		w.status(p, m.engine, m.opts.Name)
	}
	switch {
	case all:
		p.sent = now
		samples, ok := m.engine.Samples(p.driver, nil)
		if !ok { // it has not begun yet
			m.mu.Lock()
			p.resend = true
			m.mu.Unlock()
			break
		}
		w.all(p, samples)
	case len(changed) > 0:
		// As they are now: changes of a tag may come in another order.
		samples, _ := m.engine.Samples(p.driver, slices.Collect(maps.Keys(changed)))
		for i := range samples {
			w.part(p, &samples[i], 0)
		}
	}
	clear(changed)
}

// target is how large messages become.
const target = bus.MaxMessage / 2

// writer collects blocks of samples into messages.
type writer struct {
	m      *Mirror
	buf    []byte
	block  block // that is being written; of no driver: none
	failed bool
}

// open begins a block of a driver, unless one is open.
func (w *writer) open(p *publisher, flags blockFlags) {
	if w.block.driver == p.driver && w.block.flags == flags {
		return
	}
	w.close()
	if len(w.buf) == 0 {
		w.buf = appendHeader(w.buf, w.m.opts.Engine)
	}
	p.seq++
	w.block = block{driver: p.driver, epoch: p.epoch, seq: p.seq, flags: flags, base: time.Now().UnixNano()}
	w.buf = w.block.appendTo(w.buf)
}

// close ends the block that is open.
func (w *writer) close() {
	if w.block.driver != "" {
		w.buf = append(w.buf, endOfBlock)
		w.block = block{}
	}
}

// part writes a sample.
func (w *writer) part(p *publisher, s *tags.RemoteSample, flags blockFlags) {
	if size := sampleSize(s); len(w.buf)+size > target {
		w.flush()
		if size > target {
			s = &tags.RemoteSample{Tag: s.Tag, Degraded: s.Degraded, Sample: tags.Sample{Quality: tags.Bad, Reason: tags.ReasonEngine,
				SourceTime: s.SourceTime, ServerTime: s.ServerTime}}
			w.m.opts.Logger.Warn("value is too large for the other engines", "tag", s.Tag, "bytes", size)
		}
	}
	w.open(p, flags)
	w.buf = appendSample(w.buf, s, w.block.base)
}

// all writes all samples of a driver, from an empty block that is the first to one that is the last.
func (w *writer) all(p *publisher, samples []tags.RemoteSample) {
	w.open(p, flagFirst)
	for i := range samples {
		w.part(p, &samples[i], flagPart)
	}
	w.open(p, flagLast)
	w.close()
}

// status writes a report on a driver.
func (w *writer) status(p *publisher, e *tags.Engine, name string) {
	s, ok := e.Driver(p.driver)
	if !ok {
		return
	}
	s.Engine = name
	text, err := json.Marshal(s)
	if err != nil {
		return // it has numbers and texts
	}
	if len(w.buf)+len(text) > target {
		w.flush()
	}
	w.open(p, flagStatus)
	w.buf = appendBytes(w.buf, text)
	w.close()
}

// flush publishes the message. What is lost shows in the numbers.
func (w *writer) flush() {
	w.close()
	if len(w.buf) == 0 {
		return
	}
	err := w.m.bus.Publish(subjectValues, w.buf)
	w.buf = w.buf[:0]
	switch {
	case err != nil && !w.failed:
		w.m.opts.Logger.Warn("values do not reach the other engines", "error", err)
	case err == nil && w.failed:
		w.m.opts.Logger.Info("values reach the other engines again")
	}
	w.failed = err != nil
}

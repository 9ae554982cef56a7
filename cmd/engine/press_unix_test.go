//go:build unix

package main_test

import (
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// press is a Modbus device that keeps account of who asks it and what is written. Register 1 is its level, register 2 takes writes.
type press struct {
	host  string
	port  int
	level atomic.Uint32

	mu      sync.Mutex
	asked   time.Time
	by      string
	longest pause                // since watch
	first   map[string]time.Time // when each engine asked first since watchTakers, by its address
	last    map[string]time.Time // when each engine asked last, by its address
	pauses  []pause              // that were long
	written map[uint16]int
	held    uint16
}

// pause is a time in which nobody asked a press.
type pause struct {
	from, until  time.Time
	before, then string // who asked
}

func (p pause) length() time.Duration { return p.until.Sub(p.from) }

func newPress(t testing.TB, host string) *press {
	p := &press{host: host, port: realtest.FreePort(t), first: map[string]time.Time{}, last: map[string]time.Time{}, written: map[uint16]int{}}
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + net.JoinHostPort(host, strconv.Itoa(p.port)), MaxClients: 20, Timeout: time.Minute}, p)
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Stop() })
	return p
}

func (p *press) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(r.ClientAddr)
	if r.IsWrite {
		for i, v := range r.Args {
			if int(r.Addr)+i == 2 {
				p.held = v
				p.written[v]++
			}
		}
		return r.Args, nil
	}
	out := make([]uint16, r.Quantity)
	for i := range out {
		switch int(r.Addr) + i {
		case 1:
			out[i] = uint16(p.level.Load())
		case 2:
			out[i] = p.held
		}
	}
	return out, nil
}

// note takes note of a request. p.mu is held.
func (p *press) note(client string) {
	if host, _, err := net.SplitHostPort(client); err == nil {
		client = host
	}
	now := time.Now()
	if one := (pause{p.asked, now, p.by, client}); !p.asked.IsZero() {
		if one.length() > time.Second {
			p.pauses = append(p.pauses, one)
		}
		if one.length() > p.longest.length() {
			p.longest = one
		}
	}
	p.asked, p.last[client], p.by = now, now, client
	if _, known := p.first[client]; !known {
		p.first[client] = now
	}
}

func (p *press) HandleCoils(*modbus.CoilsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (p *press) HandleDiscreteInputs(*modbus.DiscreteInputsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (p *press) HandleInputRegisters(*modbus.InputRegistersRequest) ([]uint16, error) {
	return nil, modbus.ErrIllegalFunction
}

// watch begins to look for pauses.
func (p *press) watch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.longest = time.Now(), pause{}
}

// watchTakers begins to look for engines that ask.
func (p *press) watchTakers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.first)
}

// served waits for the next request and returns the longest pause since watch.
func (p *press) served(t testing.TB) (longest pause) {
	t.Helper()
	now := time.Now()
	eventually(t, "a device is not served any more", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		longest = p.longest
		return p.asked.After(now)
	})
	return longest
}

// idle returns how long ago the press was asked.
func (p *press) idle() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.asked)
}

// late returns how long an engine went on asking after another one had begun to since watchTakers.
func (p *press) late(engine string) (late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for other, first := range p.first {
		if other != engine {
			late = max(late, p.last[engine].Sub(first))
		}
	}
	return late
}

func (p *press) times(v uint16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written[v]
}

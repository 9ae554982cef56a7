//go:build unix

package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// press is a Modbus device that keeps account of who asks it and what is written. Register 1 is its level, register 2 takes writes.
type press struct {
	port  int
	level atomic.Uint32

	mu      sync.Mutex
	asked   time.Time
	wait    chan struct{} // closed at the next request; nil when nobody waits
	written map[uint16]int
	held    uint16
}

func newPress(t testing.TB) *press {
	p := &press{port: realtest.FreePort(t), written: map[uint16]int{}}
	server, err := modbus.NewServer(&modbus.ServerConfiguration{URL: "tcp://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)), MaxClients: 20, Timeout: time.Minute}, p)
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Stop() })
	return p
}

func (p *press) HandleHoldingRegisters(r *modbus.HoldingRegistersRequest) ([]uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Now()
	if p.wait != nil {
		close(p.wait)
		p.wait = nil
	}
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

func (p *press) HandleCoils(*modbus.CoilsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (p *press) HandleDiscreteInputs(*modbus.DiscreteInputsRequest) ([]bool, error) {
	return nil, modbus.ErrIllegalFunction
}

func (p *press) HandleInputRegisters(*modbus.InputRegistersRequest) ([]uint16, error) {
	return nil, modbus.ErrIllegalFunction
}

// served waits for the next request and returns when it came.
func (p *press) served(t testing.TB) time.Time {
	p.mu.Lock()
	if p.wait == nil {
		p.wait = make(chan struct{})
	}
	wait := p.wait
	p.mu.Unlock()
	select {
	case <-wait:
	case <-time.After(patience):
		t.Fatal("a device is not served any more")
	}
	return time.Now()
}

func (p *press) times(v uint16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written[v]
}

// campaign is engines on one database whose presses are written and raise alarms, while engines are killed and stopped.
type campaign struct {
	t       *testing.T
	env     []string
	token   string
	presses []*press

	mu      sync.Mutex
	engines []*engine
	data    map[*engine]string // directory of each

	writes     sync.Map // by press and value: the id that was acknowledged
	refused    atomic.Int64
	excursions [4]atomic.Int64 // by press
}

// engine returns one of the engines, at random.
func (c *campaign) engine() *engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engines[rand.IntN(len(c.engines))]
}

func (c *campaign) client(e *engine) *client.ClientWithResponses {
	api, err := client.NewClientWithResponses(e.url, client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+c.token)
		return nil
	}))
	require.NoError(c.t, err)
	return api
}

// write writes values that differ to a press, by whichever engine, until ctx ends.
func (c *campaign) write(ctx context.Context, k int) {
	for v := uint16(1); ctx.Err() == nil; v++ {
		text := strconv.Itoa(int(v))
		call, cancel := context.WithTimeout(ctx, 8*time.Second)
		answer, err := c.client(c.engine()).WriteTagWithResponse(call, fmt.Sprintf("press%d", k), "setpoint", nil, client.WriteRequest{Value: &text})
		cancel()
		switch {
		case err == nil && answer.JSON200 != nil:
			c.writes.Store([2]int{k, int(v)}, answer.JSON200.WriteID)
		default:
			c.refused.Add(1)
		}
		select {
		case <-time.After(time.Duration(20+rand.IntN(60)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// raise raises the level of a press for a while, again and again, each longer than a driver takes to move.
func (c *campaign) raise(ctx context.Context, k int) {
	pause := func() bool {
		select {
		case <-time.After(time.Duration(7000+rand.IntN(3000)) * time.Millisecond):
			return true
		case <-ctx.Done():
			return false
		}
	}
	for pause() {
		c.presses[k].level.Store(100)
		c.excursions[k].Add(1)
		pause()
		c.presses[k].level.Store(10)
	}
	c.presses[k].level.Store(10)
}

// rounds is how many faults there are, and how long an engine stays stopped.
func campaignRounds() (rounds int) {
	if n, err := strconv.Atoi(os.Getenv("OTKIT_CAMPAIGN")); err == nil {
		return n
	}
	return 3
}

// TestEnginesAreKilledAndStopped kills engines of a plant and stops them: each device is served again soon, no write that was acknowledged is lost, none is
// carried out twice, and every excursion is one alarm.
func TestEnginesAreKilledAndStopped(t *testing.T) {
	t.Parallel()
	c := &campaign{t: t, data: map[*engine]string{}, env: with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t)}, known)}
	for range 3 {
		data := t.TempDir()
		e := start(t, c.env, "-data", data)
		c.engines, c.data[e] = append(c.engines, e), data
	}
	s := c.engines[0].admin()
	c.token = s.token
	for k := range c.excursions {
		c.presses = append(c.presses, newPress(t))
		id := fmt.Sprintf("press%d", k)
		made, err := s.CreateDriverWithResponse(t.Context(), client.DriverDefinition{ID: id, Type: "Modbus", IPAddress: "127.0.0.1", Port: c.presses[k].port,
			PollIntervalMs: 100, TimeoutMs: 1000, Settings: map[string]any{"Tags": []map[string]any{
				{"Name": "level", "Address": "HR:1", "Type": "UInt16"}, {"Name": "setpoint", "Address": "HR:2", "Type": "UInt16", "AccessMode": "ReadWrite"}}}})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, made.StatusCode(), "%s", made.Body)
		s.addRule(rules.Rule{ID: id, Tag: id + ".level", Kind: rules.High, Limit: 50, OnDelay: 500 * time.Millisecond, Severity: alarms.Critical, Enabled: true, Message: id})
		for _, e := range c.engines {
			e.with(c.token).good(id + ".level")
		}
	}
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for k := range c.presses {
		busy.Go(func() { c.write(ctx, k) })
		busy.Go(func() { c.raise(ctx, k) })
	}
	var gaps []time.Duration
	for round := range campaignRounds() {
		gaps = append(gaps, c.fault(round)...)
	}
	cancel()
	busy.Wait()
	sort.Slice(gaps, func(i, j int) bool { return gaps[i] < gaps[j] })
	t.Logf("gaps of devices: median %s, p99 %s, longest %s", gaps[len(gaps)/2], gaps[len(gaps)*99/100], gaps[len(gaps)-1])
	c.account(began)
}

// fault kills or stops an engine, and returns how long each device was not served.
func (c *campaign) fault(round int) (gaps []time.Duration) {
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
	i := rand.IntN(len(c.engines))
	c.mu.Lock()
	e := c.engines[i]
	c.engines = slices.Delete(slices.Clone(c.engines), i, i+1) // callers go to the others, as a load balancer sends them
	c.mu.Unlock()
	var at time.Time
	kill := round%2 == 0
	if kill {
		at = time.Now()
		e.kill()
	} else {
		e.signal(syscall.SIGSTOP)
		at = time.Now()
	}
	for _, p := range c.presses {
		next := p.served(c.t)
		gap := next.Sub(at)
		if gap < 500*time.Millisecond { // another engine has it
			gap = 0
		}
		gaps = append(gaps, gap)
	}
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond)
	if kill {
		again := start(c.t, c.env, "-data", c.data[e])
		c.data[again], e = c.data[e], again
	} else {
		e.signal(syscall.SIGCONT)
	}
	c.mu.Lock()
	c.engines = append(c.engines, e)
	c.mu.Unlock()
	return gaps
}

// account compares what was acknowledged with what the presses and the journal have.
func (c *campaign) account(began time.Time) {
	t, s := c.t, c.engines[0].with(c.token)
	states := map[client.WriteState]int{}
	acknowledged := map[[2]int]bool{}
	c.writes.Range(func(key, id any) bool {
		at := key.([2]int)
		acknowledged[at] = true
		w := s.settled(id.(string))
		states[w.State]++
		switch n := c.presses[at[0]].times(uint16(at[1])); w.State {
		case client.Failed:
			require.Zero(t, n, "press %d, value %d: it was written, and called failed", at[0], at[1])
		case client.Unknown:
			require.LessOrEqual(t, n, 1, "press %d, value %d", at[0], at[1])
		default:
			require.Equal(t, 1, n, "press %d, value %d is %s", at[0], at[1], w.State)
		}
		return true
	})
	for k, p := range c.presses {
		p.mu.Lock()
		for v, n := range p.written {
			require.LessOrEqual(t, n, 1, "press %d, value %d: written twice, acknowledged %v", k, v, acknowledged[[2]int{k, int(v)}])
		}
		p.mu.Unlock()
	}
	t.Logf("%d writes acknowledged, %v; %d refused or unanswered", len(acknowledged), states, c.refused.Load())
	require.NotEmpty(t, acknowledged)
	for k := range c.presses {
		source := fmt.Sprintf("press%d.level", k)
		eventually(t, "an alarm is not cleared", func() bool {
			list := s.raisedSince(source, began)
			return !slices.ContainsFunc(list, func(a client.AlarmInfo) bool { return a.IsActive })
		})
		require.Len(t, s.raisedSince(source, began), int(c.excursions[k].Load()), source)
	}
}

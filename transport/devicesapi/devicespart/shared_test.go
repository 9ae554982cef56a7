package devicespart_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/server"
)

// plant is engines that share what they store.
type plant struct {
	t        *testing.T
	sessions cluster.Store
	join     func() bus.Bus
	wait     func(time.Duration)
	devices  *devices.Memory
	shells   repository.Store

	mu   sync.Mutex
	sent []string // to devices, by engine: "a c-1"
}

// newPlant returns a plant for use within a bubble.
func newPlant(t *testing.T) *plant {
	memory := bus.NewMemory()
	return &plant{t: t, sessions: cluster.NewMemory(), join: func() bus.Bus { return memory.Join() }, wait: pass, devices: devices.NewMemory(), shells: repository.NewMemory()}
}

// engine is one of the plant, with its house.
type engine struct {
	*house
	p       *plant
	name    string
	ids     []string // of the devices of its fleet
	cluster *clusterpart.Cluster
	bus     *lossyBus
	store   *lossyStore
	journal *lossyJournal
	started server.Part
}

// lossyBus, lossyStore and lossyJournal are what an engine reaches, unless it hangs.
type lossyBus struct {
	bus.Bus
	*cut
	late time.Duration // by which a broker holds requests up, but for those for changes
}

type lossyStore struct {
	cluster.Store
	*cut
}

type lossyJournal struct {
	*devices.Memory
	*cut
}

func (s *lossyJournal) Stops(ctx context.Context) ([]devices.Record, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.Memory.Stops(ctx)
}

type cut struct {
	mu sync.Mutex
	on bool
}

func (c *cut) set(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = on
}

func (c *cut) wait(ctx context.Context) error {
	c.mu.Lock()
	on := c.on
	c.mu.Unlock()
	if on {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (b *lossyBus) Request(ctx context.Context, subject string, data []byte) ([]byte, error) {
	if b.wait(ctx) != nil {
		return nil, bus.ErrNoAnswer
	}
	if b.late > 0 && !strings.Contains(subject, "changes") {
		time.AfterFunc(b.late, func() { _, _ = b.Bus.Request(context.Background(), subject, data) })
		<-ctx.Done()
		return nil, bus.ErrNoAnswer
	}
	return b.Bus.Request(ctx, subject, data)
}

func (b *lossyBus) Serve(subject string, handle func(context.Context, []byte) []byte) (func(), error) {
	return b.Bus.Serve(subject, func(ctx context.Context, data []byte) []byte {
		_ = b.wait(ctx)
		return handle(ctx, data)
	})
}

func (s *lossyStore) Renew(ctx context.Context, one cluster.Session) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.Store.Renew(ctx, one)
}

// engine starts an engine. Its fleet has the devices.
func (p *plant) engine(name string, ids ...string) *engine {
	p.t.Helper()
	e := &engine{p: p, name: name, ids: ids, bus: &lossyBus{Bus: p.join(), cut: &cut{}}, store: &lossyStore{p.sessions, &cut{}}, journal: &lossyJournal{p.devices, &cut{}}}
	var err error
	e.cluster, err = clusterpart.New(p.t.Context(), clusterpart.Options{Store: e.store, Bus: e.bus, Engine: name})
	require.NoError(p.t, err)
	policies, err := safety.New(safety.Options{Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {100, 0}, {100, 100}, {0, 100}}}}}})
	require.NoError(p.t, err)
	o := devicespart.Options{Cluster: e.cluster, Safety: policies}
	if len(ids) > 0 {
		f := devicespart.Fleet{Name: "hall", Open: e.open}
		for _, id := range ids {
			f.Devices = append(f.Devices, devicespart.NewDevice{ID: id, Name: "Robot " + id})
		}
		o.Fleets = []devicespart.Fleet{f}
	}
	e.house = newHouse(p.t, p.shells, e.journal, o)
	e.started = e.cluster.Part()
	e.started.Start()
	p.wait(2 * time.Second)
	return e
}

// open connects the devices, which report as long as they are connected.
func (e *engine) open(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
	return devicespart.Connection{Executor: mover{e, s}, Run: func(ctx context.Context) error {
		for ticker := time.NewTicker(500 * time.Millisecond); ; {
			for _, id := range e.ids {
				_ = s.Report(id, devices.Telemetry{State: devices.Idle, Battery: new(80.0), Pose: &devices.Pose{Map: "hall", X: 5, Y: line(id)}})
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				ticker.Stop()
				return nil
			}
		}
	}}, nil
}

// line returns where devices move, so that they do not meet.
func line(device string) float64 {
	return map[string]float64{"agv": 5, "arm": 25, "outside": 45}[device]
}

// mover moves devices, for ten seconds each time.
type mover struct {
	e       *engine
	service *devices.Service
}

func (m mover) note(what string) error {
	if !m.service.Owns() {
		m.e.p.t.Error(m.e.name, "sends", what, "and has not got the devices")
	}
	m.e.p.mu.Lock()
	defer m.e.p.mu.Unlock()
	m.e.p.sent = append(m.e.p.sent, m.e.name+" "+what)
	return nil
}

func (m mover) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	_ = m.note(o.ID)
	select {
	case <-time.After(10 * time.Second):
		return map[string]any{"by": m.e.name}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (m mover) Stop(_ context.Context, id string) error { return m.note("stop " + id) }

func (p *plant) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

// stop stops an engine as a signal does.
func (e *engine) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(e.p.t, e.started.Drain(ctx))
	e.house.stop()
	require.NoError(e.p.t, e.started.Close(ctx))
}

// hang lets an engine hang, as far as others can see.
func (e *engine) hang(on bool) {
	e.bus.set(on)
	e.store.set(on)
	e.journal.set(on)
}

func (e *engine) move(ctx context.Context, id, device string, x float64) (devices.Record, error) {
	return e.service.Submit(ctx, devices.Command{ID: id, DeviceID: device, Type: devices.MoveTo, Parameters: map[string]any{"x": x, "y": line(device)}}, e.name)
}

func (e *engine) emergencyStop(id, device string) devices.Record {
	e.p.t.Helper()
	r, err := e.service.Submit(e.p.t.Context(), devices.Command{ID: id, DeviceID: device, Type: devices.EmergencyStop}, e.name)
	require.NoError(e.p.t, err)
	return r
}

func done() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// states returns the devices as an engine shows them.
func (e *engine) states() (all []string) {
	for _, d := range e.service.List() {
		all = append(all, fmt.Sprint(d.ID, " ", d.State, " ", d.Unheard))
	}
	return all
}

func TestEnginesShareDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a := p.engine("a", "agv", "arm")
		defer a.stop()
		b := p.engine("b", "agv", "arm")
		defer b.stop()
		for _, e := range []*engine{a, b} {
			require.Equal(t, []string{"agv Idle false", "arm Idle false"}, e.states(), e.name)
		}
		require.True(t, a.service.Owns())

		at := time.Now()
		got, err := b.move(t.Context(), "1", "agv", 20)
		require.NoError(t, err)
		require.Equal(t, devices.Succeeded, got.Phase)
		require.Equal(t, map[string]any{"by": "a"}, got.Result.Data)
		require.InDelta(t, 10, time.Since(at).Seconds(), 1)
		far, err := b.move(t.Context(), "2", "agv", 200)
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Contains(t, far.Decision.Reason, "geofence")
		_, err = b.move(t.Context(), "3", "none", 20)
		require.ErrorIs(t, err, devices.ErrNotFound)
		_, err = b.service.Create(t.Context(), "a b", "", "")
		require.ErrorIs(t, err, devices.ErrInvalid)
		require.ErrorContains(t, err, "name is required")

		_, err = b.service.Create(t.Context(), "outside", "Outside", "of no fleet")
		require.NoError(t, err)
		require.NoError(t, b.service.Relay(t.Context(), "outside", idle(7)))
		pass(time.Second)
		for _, e := range []*engine{a, b} {
			d, err := e.service.Get("outside")
			require.NoError(t, err)
			require.Equal(t, "of no fleet", d.Description)
			require.InDelta(t, 7, d.Telemetry.Pose.X, 2, e.name)
		}
		require.ErrorContains(t, b.service.Relay(t.Context(), "agv", idle(7)), "reports through its fleet")

		_, err = b.move(done(), "4", "agv", 30)
		require.NoError(t, err)
		pass(time.Second)
		canceled, err := b.service.Cancel(t.Context(), "4", "b")
		require.NoError(t, err)
		require.Equal(t, devices.Canceled, canceled.Phase)
		require.True(t, b.emergencyStop("5", "arm").Result.Success)
		require.Equal(t, []string{"a 1", "a 4", "a stop arm"}, p.taken())
		d, err := b.service.Change(t.Context(), "agv", devices.MaintenanceBegins)
		require.NoError(t, err)
		require.Equal(t, devices.Maintenance, d.State)
		pass(2 * time.Second)
		require.Equal(t, []string{"agv Maintenance false", "arm Idle false", "outside Idle false"}, b.states())
		shells, err := a.aas.Service().Shells.Get(t.Context(), devicespart.ShellID("outside"))
		require.NoError(t, err)
		require.NotNil(t, shells)
	})
}

// The owner hangs: the others take over within seconds.
func TestAnEngineThatHangsLosesTheDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a := p.engine("a", "agv", "arm")
		defer a.stop()
		b := p.engine("b", "agv", "arm")
		defer b.stop()
		c := p.engine("c", "agv", "arm")
		defer c.stop()
		_, err := c.move(done(), "1", "agv", 20)
		require.NoError(t, err)
		pass(time.Second)
		require.Equal(t, []string{"a 1"}, p.taken())
		a.hang(true)
		at := time.Now()
		stopped := c.emergencyStop("2", "agv")
		require.True(t, stopped.Result.Success, stopped.Result.Message)
		require.Less(t, time.Since(at), 5*time.Second)
		pass(time.Second)
		require.False(t, a.service.Owns())
		require.NotEqual(t, b.service.Owns(), c.service.Owns())
		found, err := b.service.Commands(t.Context(), devices.CommandQuery{ID: "1", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, devices.Lost, found[0].Phase)
		sent := p.taken()
		require.Len(t, sent, 1)
		require.True(t, strings.HasSuffix(sent[0], " stop agv") && !strings.HasPrefix(sent[0], "a "), sent)
		for _, e := range []*engine{b, c} {
			require.Equal(t, []string{"agv Idle false", "arm Idle false"}, e.states(), e.name)
		}
		pass(2 * time.Second)
		require.Equal(t, []string{"agv Unknown true", "arm Unknown true"}, a.states())
		_, err = a.move(t.Context(), "3", "arm", 20)
		require.True(t, errors.Is(err, devices.ErrNotOwner) || errors.Is(err, devices.ErrUnanswered), err)
		a.hang(false)
		pass(5 * time.Second)
		require.Equal(t, []string{"agv Idle false", "arm Idle false"}, a.states())
		require.False(t, a.service.Owns())
		got, err := a.move(t.Context(), "4", "arm", 40)
		require.NoError(t, err)
		require.Equal(t, devices.Succeeded, got.Phase)
		require.Len(t, p.taken(), 1)
	})
}

// An engine that is stopped gives the devices away at once.
func TestAnEngineThatStopsGivesTheDevicesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a := p.engine("a", "agv")
		b := p.engine("b", "agv")
		defer b.stop()
		pass(time.Minute) // work would be spread by now
		require.True(t, a.service.Owns())
		a.stop()
		pass(1500 * time.Millisecond)
		require.True(t, b.service.Owns())
		require.Equal(t, []string{"agv Idle false"}, b.states())
	})
}

// An engine whose settings have fewer devices leaves them to another one, as long as that is there.
func TestAnEngineWithoutTheFleetLeavesTheDevicesToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		bare := p.engine("bare")
		defer bare.stop()
		require.True(t, bare.service.Owns())
		a := p.engine("a", "agv")
		pass(5 * time.Second)
		require.True(t, a.service.Owns())
		require.Equal(t, []string{"agv Idle false"}, bare.states())
		_, err := bare.move(done(), "1", "agv", 20)
		require.NoError(t, err)
		pass(time.Second)
		a.stop()
		pass(3 * time.Second)
		require.True(t, bare.service.Owns(), "there is no other")
		require.Equal(t, []string{"agv Offline false"}, bare.states())
		stopped := bare.emergencyStop("2", "agv")
		require.Contains(t, stopped.Result.Message, "nothing carries out commands")
		b := p.engine("b", "agv")
		defer b.stop()
		pass(5 * time.Second)
		require.True(t, b.service.Owns())
		require.Equal(t, "a 1", p.taken()[0])
	})
}

// A broker that hangs and goes on delivers what was sent meanwhile. Nobody expects it any more.
func TestACommandThatIsHeldUpIsNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t)
		a := p.engine("a", "agv")
		b := p.engine("b")
		pass(10 * time.Second)

		b.bus.late = 8 * time.Second
		_, err := b.move(t.Context(), "c-1", "agv", 20)
		require.ErrorIs(t, err, devices.ErrUnanswered)
		_, err = b.service.Change(t.Context(), "agv", devices.MaintenanceBegins)
		require.ErrorIs(t, err, devices.ErrUnanswered)
		pass(20 * time.Second)
		require.Empty(t, p.taken())
		d, err := a.service.Get("agv")
		require.NoError(t, err)
		require.Equal(t, devices.Idle, d.State)
		_, err = b.service.Submit(t.Context(), devices.Command{ID: "s-1", DeviceID: "agv", Type: devices.EmergencyStop}, "b")
		require.NoError(t, err)
		pass(20 * time.Second)
		require.NotEmpty(t, p.taken(), "a stop is never refused")

		b.stop()
		a.stop()
	})
}

package vda5050

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	paho "github.com/eclipse/paho.golang/packets"
	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
)

// rig is a fleet with a broker in the same process and the same synctest bubble. The test itself plays the vehicles.
type rig struct {
	*devices.Service
	t       *testing.T
	store   devices.Store
	options Options
	fleet   *Fleet
	broker  *mqtt.Server
	hook    hook
	conns   []*pipe
	ids     int

	mu    sync.Mutex
	sent  []message // by the fleet, in order
	log   bytes.Buffer
	stuck bool // the broker neither reads nor writes
}

// message is what the fleet has sent to a vehicle.
type message struct {
	topic   string
	order   order
	actions []action
}

// inBubble runs a test with a fleet of the vehicles, which have made no connection yet.
func inBubble(t *testing.T, vehicles []Vehicle, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: devices.NewMemory(), options: Options{URL: "mqtt://broker", Vehicles: vehicles}}
		r.startBroker()
		defer func() { r.stopBroker() }()
		r.startFleet()
		defer func() { r.stopFleet() }()
		test(t, r)
	})
}

var one = []Vehicle{{DeviceID: "agv", Manufacturer: "otkit", SerialNumber: "1"}}

// startFleet starts the service and the fleet, as a start of the engine does.
func (r *rig) startFleet() {
	r.t.Helper()
	policies, err := safety.New(safety.Options{Device: safety.Device{MaxSpeed: 2, Radius: 0.1}, Separation: 0.1, Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {100, 0}, {100, 100}, {0, 100}}}}}})
	require.NoError(r.t, err)
	r.Service, err = devices.New(r.t.Context(), r.store, devices.Options{Safety: policies, Executor: func(string) devices.Executor { return r.fleet }})
	require.NoError(r.t, err)
	for _, v := range r.options.Vehicles {
		if _, err := r.Create(r.t.Context(), v.DeviceID, "AGV", ""); !errors.Is(err, devices.ErrExists) {
			require.NoError(r.t, err)
		}
	}
	r.options.Reports, r.options.Logger = r.Service, slog.New(slog.NewTextHandler((*logBuffer)(r), nil))
	r.fleet, err = connect(r.t.Context(), r.options, r.dial)
	require.NoError(r.t, err)
	synctest.Wait()
}

func (r *rig) stopFleet() {
	r.t.Helper()
	stopping, cancel := context.WithCancel(context.Background())
	cancel() // commands that run are left to the vehicle
	require.NoError(r.t, r.Service.Close(stopping))
	require.NoError(r.t, r.fleet.Close(context.Background()))
}

func (r *rig) startBroker() {
	r.t.Helper()
	broker := mqtt.New(&mqtt.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(r.t, broker.AddHook(&r.hook, nil))
	require.NoError(r.t, broker.Serve())
	require.NoError(r.t, broker.Subscribe("#", 1, func(_ *mqtt.Client, _ packets.Subscription, p packets.Packet) { r.note(p.TopicName, p.Payload) }))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broker = broker
}

// note notes what the fleet has sent.
func (r *rig) note(topic string, payload []byte) {
	m := message{topic: topic}
	switch topic[strings.LastIndexByte(topic, '/')+1:] {
	case "order":
		require.NoError(r.t, json.Unmarshal(payload, &m.order))
	case "instantActions":
		var i instantActions
		require.NoError(r.t, json.Unmarshal(payload, &i))
		m.actions = i.Actions
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, m)
}

func (r *rig) stopBroker() {
	r.t.Helper()
	broker := r.broker
	r.mu.Lock()
	r.broker = nil
	r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close() // may be closed
	}
	synctest.Wait()
	require.NoError(r.t, broker.Close())
}

func (r *rig) dial(context.Context, autopaho.ClientConfig, *url.URL) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broker == nil {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	go func(b *mqtt.Server) { _ = b.EstablishConnection("pipe", theirs) }(r.broker) // ends with the connection
	c := &pipe{Conn: ours, rig: r}
	r.conns = append(r.conns, c)
	return paho.NewThreadSafeConn(c), nil
}

// pipe is the fleet's end of a connection. Nothing comes through while the broker is stuck.
type pipe struct {
	net.Conn
	rig *rig
}

func (p *pipe) Write(data []byte) (int, error) {
	p.rig.mu.Lock()
	stuck := p.rig.stuck
	p.rig.mu.Unlock()
	if stuck {
		return len(data), nil
	}
	return p.Conn.Write(data)
}

// hook lets everybody do everything but what the test forbids, and counts.
type hook struct {
	mqtt.HookBase
	mu        sync.Mutex
	forbidden []string // topics
	silent    bool     // subscriptions are not answered in time
	packets   []int    // topics of each subscription
	delivered int      // messages to the fleet
}

func (h *hook) Provides(b byte) bool {
	return b == mqtt.OnConnectAuthenticate || b == mqtt.OnACLCheck || b == mqtt.OnSubscribe || b == mqtt.OnPacketSent
}

func (h *hook) OnConnectAuthenticate(*mqtt.Client, packets.Packet) bool { return true }

func (h *hook) OnACLCheck(_ *mqtt.Client, topic string, _ bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !slices.Contains(h.forbidden, topic)
}

func (h *hook) OnSubscribe(_ *mqtt.Client, p packets.Packet) packets.Packet {
	h.mu.Lock()
	h.packets = append(h.packets, len(p.Filters))
	silent := h.silent
	h.mu.Unlock()
	if silent {
		time.Sleep(11 * time.Second)
	}
	return p
}

func (h *hook) OnPacketSent(_ *mqtt.Client, p packets.Packet, _ []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.FixedHeader.Type == packets.Publish {
		h.delivered++
	}
}

// logBuffer is the log of a rig.
type logBuffer rig

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(data)
}

func (r *rig) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// publish lets a vehicle send a message, and waits until it is handled.
func (r *rig) publish(topic string, m any) {
	r.t.Helper()
	data, ok := m.(string)
	if !ok {
		encoded, err := json.Marshal(m)
		require.NoError(r.t, err)
		data = string(encoded)
	}
	require.NoError(r.t, r.broker.Publish(topic, []byte(data), strings.HasSuffix(topic, "/connection"), 0))
	synctest.Wait()
}

// idle is the state of a vehicle that stands at (5, 5).
func idle() *state {
	return &state{header: header{Timestamp: stamp(time.Now()), Version: "2.1.0"}, OperatingMode: "AUTOMATIC", Safety: safetyState{EStop: "NONE"},
		Position: &position{X: 5, Y: 5, MapID: "hall", Initialized: true}, Battery: &battery{Charge: 80}}
}

// report lets the vehicle agv report its state.
func (r *rig) report(s *state) {
	r.t.Helper()
	s.Timestamp = stamp(time.Now())
	r.publish("uagv/v2/otkit/1/state", s)
}

// take returns what the fleet has sent since, without requests.
func (r *rig) take() (sent []message) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sent {
		if m.actions == nil || m.actions[0].ActionType != "stateRequest" {
			sent = append(sent, m)
		}
	}
	r.sent = nil
	return sent
}

// kinds returns the types of the actions that the fleet has sent since.
func (r *rig) kinds() (kinds []string) {
	for _, m := range r.take() {
		for _, a := range m.actions {
			kinds = append(kinds, a.ActionType)
		}
	}
	return kinds
}

// begin gives agv a command, and returns what becomes of it.
func (r *rig) begin(kind string, parameters map[string]any) <-chan devices.Record {
	r.ids++
	ended := make(chan devices.Record, 1)
	c := devices.Command{ID: "command-" + string(rune('a'+r.ids)), DeviceID: "agv", Type: kind, Parameters: parameters}
	go func() {
		record, err := r.Submit(context.Background(), c, "anna")
		if err != nil {
			record.Result.Message = err.Error() + " " + record.Decision.Reason
		}
		ended <- record
	}()
	synctest.Wait()
	return ended
}

func (r *rig) device() devices.Device {
	r.t.Helper()
	d, err := r.Get("agv")
	require.NoError(r.t, err)
	return d
}

func target(x, y float64) map[string]any { return map[string]any{"x": x, "y": y} }

// finished adds an action that the vehicle has carried out to its state.
func (s *state) finished(a action) *state {
	s.ActionStates = append(s.ActionStates, actionState{ActionID: a.ActionID, Status: "FINISHED"})
	return s
}

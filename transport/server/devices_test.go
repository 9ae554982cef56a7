package server_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

// machine is an executor that a test moves.
type machine struct {
	mu      sync.Mutex
	orders  []devices.Order
	stopped []string

	hold chan struct{} // commands of type Hold wait for an item
	held chan string   // told the id of a command that begins to wait
}

func newMachine() *machine {
	return &machine{hold: make(chan struct{}), held: make(chan string, 100)}
}

func (m *machine) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	m.mu.Lock()
	m.orders = append(m.orders, o)
	m.mu.Unlock()
	switch o.Type {
	case "Hold":
		m.held <- o.ID
		select {
		case <-m.hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	case "Jam":
		return nil, errors.New("the gripper is jammed")
	case devices.MoveTo:
		return map[string]any{"x": o.Move.X, "y": o.Move.Y}, nil
	}
	return nil, nil
}

func (m *machine) Stop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = append(m.stopped, id)
	return nil
}

// executed returns the ids of the commands that reached the machine.
func (m *machine) executed() (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.orders {
		ids = append(ids, o.ID)
	}
	return ids
}

// withMachine gives the platform two devices in a hall of 50 m by 30 m, that a machine moves.
func withMachine(t *testing.T, m *machine, change ...func(*devicespart.Options)) func(*engine.Options) {
	t.Helper()
	policies, err := safety.New(safety.Options{Zones: []safety.Zone{{Name: "hall", Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 30}, {0, 30}}}}}})
	require.NoError(t, err)
	return func(o *engine.Options) {
		o.Devices.Safety = policies
		o.Devices.Fleets = []devicespart.Fleet{{Name: "hall", Devices: []devicespart.NewDevice{{ID: "agv-1", Name: "Tugger"}, {ID: "agv-2", Name: "Stacker"}},
			Open: func(context.Context, *devices.Service) (devicespart.Connection, error) {
				return devicespart.Connection{Executor: m}, nil
			}}}
		for _, c := range change {
			c(&o.Devices)
		}
	}
}

// place reports where a device is, as its own controller would.
func (p *platform) place(id string, x, y float64) {
	p.t.Helper()
	a := p.call(accounts.Operator, http.MethodPost, "/api/v1/devices/"+id+"/telemetry",
		map[string]any{"position": map[string]any{"map": "hall", "x": x, "y": y}, "battery": 80, "state": "Idle"})
	require.Equal(p.t, http.StatusNoContent, a.status, "%s", a.body)
}

// command gives a device a command, whose id is also its type when that is empty.
func (p *platform) command(role accounts.Role, device, id, kind string, parameters map[string]any) answer {
	p.t.Helper()
	body := map[string]any{"commandId": id, "deviceId": device, "commandType": kind}
	if parameters != nil {
		body["parameters"] = parameters
	}
	return p.call(role, http.MethodPost, "/api/v1/devices/"+device+"/commands", body)
}

func TestDevicesAreCreatedListedAndCommanded(t *testing.T) {
	m := newMachine()
	p := start(t, withMachine(t, m))
	created := p.call(accounts.Admin, http.MethodPost, "/api/v1/devices", map[string]any{"deviceId": "arm:1", "name": "Arm"})
	require.Equal(t, http.StatusCreated, created.status, "%s", created.body)
	require.Equal(t, "/api/v1/devices/arm:1", created.header.Get("Location"))
	arm := created.object(t)
	require.Equal(t, []string{"currentState", "deviceId", "lastSeen", "name", "tenantId"}, keys(arm))
	require.Equal(t, "Offline", arm["currentState"])
	require.Nil(t, arm["tenantId"])

	var list []map[string]any
	p.call(accounts.Viewer, http.MethodGet, "/api/v1/devices", nil).into(t, &list)
	require.Len(t, list, 3)
	require.Equal(t, "agv-1", list[0]["deviceId"])
	one := p.call(accounts.Viewer, http.MethodGet, created.header.Get("Location"), nil)
	require.Equal(t, 200, one.status)
	require.JSONEq(t, string(created.body), string(one.body))
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/devices/nobody", nil), 404, "DEVICE_NOT_FOUND")

	p.place("agv-1", 1, 1)
	done := p.command(accounts.Operator, "agv-1", "c-1", "MoveTo", map[string]any{"x": 5, "y": 5})
	require.Equal(t, 200, done.status, "%s", done.body)
	result := done.object(t)
	require.Equal(t, []string{"commandId", "completedAt", "data", "message", "success"}, keys(result))
	require.Equal(t, true, result["success"])
	require.Nil(t, result["message"])
	refused := p.command(accounts.Operator, "agv-1", "c-2", "MoveTo", map[string]any{"x": 60, "y": 5})
	require.Equal(t, 403, refused.status)
	body := refused.object(t)
	require.Equal(t, []string{"message", "reason"}, keys(body))
	require.Equal(t, "Safety violation", body["message"])
	require.Contains(t, body["reason"], "geofence")
	require.Equal(t, []string{"c-1"}, m.executed())
}

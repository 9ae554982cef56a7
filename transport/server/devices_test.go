package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
	policies, err := safety.New(safety.Options{MaxAge: time.Hour, Zones: []safety.Zone{{Name: "hall", Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 30}, {0, 30}}}}}})
	require.NoError(t, err)
	return func(o *engine.Options) {
		o.Devices.Safety, o.Devices.OfflineAfter = policies, time.Hour
		o.Devices.Fleets = []devicespart.Fleet{{Name: "hall", Devices: []devicespart.NewDevice{{ID: "agv-1", Name: "Tugger"}, {ID: "agv-2", Name: "Stacker"}},
			Open: func(context.Context, *devices.Service) (devicespart.Connection, error) {
				return devicespart.Connection{Executor: m}, nil
			}}}
		for _, c := range change {
			c(&o.Devices)
		}
	}
}

// place reports where a device is, as its fleet would.
func (p *platform) place(id string, x, y float64) {
	p.t.Helper()
	battery := 80.0
	require.NoError(p.t, p.Devices().Report(id, devices.Telemetry{Pose: &devices.Pose{Map: "hall", X: x, Y: y}, Battery: &battery, State: devices.Idle}))
}

// command gives a device a command.
func (p *platform) command(role accounts.Role, device, id, kind string, parameters map[string]any) answer {
	p.t.Helper()
	body := map[string]any{"commandId": id, "deviceId": device, "commandType": kind}
	if parameters != nil {
		body["parameters"] = parameters
	}
	return p.call(role, http.MethodPost, "/api/v1/devices/"+device+"/commands", body)
}

const devicesPath = "/api/v1/devices"

func TestDevicesAreCreatedAndRead(t *testing.T) {
	t.Parallel()
	p := start(t, withMachine(t, newMachine()))
	created := p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": "arm:1", "name": "Arm"})
	require.Equal(t, http.StatusCreated, created.status, "%s", created.body)
	require.Equal(t, "/api/v1/devices/arm:1", created.header.Get("Location"))
	arm := created.object(t)
	seen, err := time.Parse(time.RFC3339, arm["lastSeen"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), seen, time.Minute)
	delete(arm, "lastSeen")
	require.Equal(t, map[string]any{"deviceId": "arm:1", "tenantId": nil, "name": "Arm", "currentState": "Offline"}, arm)

	list := p.call(accounts.Viewer, http.MethodGet, devicesPath, nil)
	require.Equal(t, http.StatusOK, list.status)
	var all []map[string]any
	list.into(t, &all)
	require.Len(t, all, 3)
	require.Equal(t, []any{"agv-1", "agv-2", "arm:1"}, []any{all[0]["deviceId"], all[1]["deviceId"], all[2]["deviceId"]})
	one := p.call(accounts.Viewer, http.MethodGet, created.header.Get("Location"), nil)
	require.Equal(t, http.StatusOK, one.status)
	require.JSONEq(t, string(created.body), string(one.body))
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/nobody", nil), 404, "DEVICE_NOT_FOUND")
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": "arm:1", "name": "Again"}), 409, "DEVICE_EXISTS")
	described := p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": strings.Repeat("x", 128), "name": "Belt", "description": "old"})
	require.Equal(t, http.StatusCreated, described.status)
	require.Equal(t, "old", described.object(t)["description"])
}

func TestADeviceThatBreaksARuleIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct {
		body   any
		fields []string
	}{
		{map[string]any{"deviceId": "a"}, []string{"name"}},
		{map[string]any{"name": "a"}, []string{"deviceId"}},
		{map[string]any{"deviceId": nil, "name": nil}, []string{"deviceId", "name"}},
		{map[string]any{"deviceId": "a", "name": "  "}, []string{"name"}},
		{map[string]any{"deviceId": "a/b", "name": "a"}, []string{"deviceId"}},
		{map[string]any{"deviceId": "..", "name": "a"}, []string{"deviceId"}},
		{map[string]any{"deviceId": "ü", "name": "a"}, []string{"deviceId"}},
		{map[string]any{"deviceId": strings.Repeat("x", 129), "name": "a"}, []string{"deviceId"}},
		{map[string]any{"deviceId": "stream", "name": "a"}, []string{"deviceId"}}, // its path is taken
		{map[string]any{"deviceId": "a", "name": "a", "description": strings.Repeat("x", 2001)}, []string{"description"}},
		{map[string]any{"deviceId": 1, "name": "a"}, []string{"deviceId"}},
		{"{}", []string{"deviceId", "name"}},
	} {
		a := p.callWrong(accounts.Admin, http.MethodPost, devicesPath, c.body)
		require.Equal(t, 400, a.status, "%v: %s", c.body, a.body)
		require.Equal(t, c.fields, fieldsOf(a.object(t)), "%v", c.body)
	}
	require.JSONEq(t, "[]", string(p.call(accounts.Viewer, http.MethodGet, devicesPath, nil).body))
}

// fieldsOf returns the members that a problem names.
func fieldsOf(problem map[string]any) (names []string) {
	list, _ := problem["errors"].([]any)
	for _, e := range list {
		names = append(names, e.(map[string]any)["field"].(string))
	}
	return names
}

func TestTelemetryIsReportedAndRead(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": "agv-9", "name": "Outside"}).status)
	const path = devicesPath + "/agv-9/telemetry"
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, path, nil), 404, "NO_TELEMETRY")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/x/telemetry", nil), 404, "DEVICE_NOT_FOUND")
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, devicesPath+"/x/telemetry", map[string]any{}), 404, "DEVICE_NOT_FOUND")

	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Microsecond)
	require.Equal(t, 204, p.call(accounts.Operator, http.MethodPost, path, map[string]any{
		"timestamp": at, "position": map[string]any{"map": "hall", "x": 1.5, "y": -2, "theta": 0.5}, "velocity": map[string]any{"x": 0.25},
		"battery": 0, "charging": true, "state": "Working", "emergencyStop": "None", "faults": []string{"wheel"}, "loads": []string{"box"},
	}).status)
	got := p.call(accounts.Viewer, http.MethodGet, path, nil).object(t)
	age, err := got["ageSeconds"].(json.Number).Float64()
	require.NoError(t, err)
	require.InDelta(t, 60, age, 59)
	delete(got, "ageSeconds")
	delete(got, "receivedAt")
	require.JSONEq(t, `{"timestamp":"`+at.Format(time.RFC3339Nano)+`","position":{"map":"hall","x":1.5,"y":-2,"theta":0.5},"velocity":{"x":0.25},
		"battery":0,"charging":true,"state":"Working","emergencyStop":"None","faults":["wheel"],"loads":["box"]}`, jsonText(t, got))
	require.Equal(t, "Working", p.call(accounts.Viewer, http.MethodGet, devicesPath+"/agv-9", nil).object(t)["currentState"])

	require.Equal(t, 204, p.call(accounts.Operator, http.MethodPost, path, map[string]any{"timestamp": at.Add(-time.Second), "battery": 1, "emergencyStop": "Local"}).status)
	require.Equal(t, json.Number("0"), p.call(accounts.Viewer, http.MethodGet, path, nil).object(t)["battery"], "an older report changes nothing")
	require.Equal(t, true, p.call(accounts.Viewer, http.MethodGet, devicesPath+"/agv-9", nil).object(t)["emergencyStopLatched"], "but its emergency stop counts")

	for body, field := range map[string]string{
		`{"battery":101}`: "battery", `{"battery":"80"}`: "battery", `{"battery":1e999}`: "battery", `{"position":{"x":1}}`: "position",
		`{"position":{"x":1,"y":1e7}}`: "position.y", `{"state":"Flying"}`: "state", `{"emergencyStop":"Yes"}`: "emergencyStop",
		`{"state":"Offline"}`: "state", `{"timestamp":"1960-01-01T00:00:00Z"}`: "timestamp", `{"velocity":{"x":1000}}`: "velocity.x",
		`{"battery":80,"emergency_stop":"Local"}`: "emergency_stop", `{"position":{"x":1,"y":1,"mapId":"hall"}}`: "mapId", `{"velocity":{"w":1}}`: "w",
		`[]`: "", `7`: "",
	} {
		a := p.callWrong(accounts.Operator, http.MethodPost, path, body)
		require.Equal(t, 400, a.status, body)
		if field != "" {
			require.Equal(t, []string{field}, fieldsOf(a.object(t)), body)
		}
	}
	requireProblem(t, p.callWrong(accounts.Operator, http.MethodPost, path, `{"battery":NaN}`), 400, "INVALID_REQUEST")
	require.Equal(t, 204, p.callWrong(accounts.Operator, http.MethodPost, path, `{"position":null,"velocity":null,"battery":null,"timestamp":null}`).status)
}

// Whoever reports a wrong place moves a device past the policies.
func TestADeviceOfAFleetIsNotReportedByOthers(t *testing.T) {
	t.Parallel()
	var service *devices.Service
	p := start(t, func(o *engine.Options) {
		o.Devices.Fleets = []devicespart.Fleet{{Name: "hall", Devices: []devicespart.NewDevice{{ID: "agv-1", Name: "Tugger"}},
			Open: func(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
				service = s
				return devicespart.Connection{Executor: newMachine()}, nil
			}}}
	})
	battery := 50.0
	require.NoError(t, service.Report("agv-1", devices.Telemetry{Battery: &battery}))
	const path = devicesPath + "/agv-1/telemetry"
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, path, map[string]any{"battery": 80}), 409, "DEVICE_CONNECTED")
	require.Equal(t, json.Number("50"), p.call(accounts.Viewer, http.MethodGet, path, nil).object(t)["battery"])
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, devicesPath, map[string]any{"deviceId": "outside", "name": "Outside"}).status)
	require.Equal(t, 204, p.call(accounts.Operator, http.MethodPost, devicesPath+"/outside/telemetry", map[string]any{"battery": 80}).status)
}

func TestADeviceIsTakenOutOfOperationAndBack(t *testing.T) {
	t.Parallel()
	m := newMachine()
	p := start(t, withMachine(t, m))
	change := func(method, what string) answer {
		return p.call(accounts.Admin, method, devicesPath+"/agv-1/"+what, nil)
	}
	state := func(a answer) any {
		require.Equal(t, 200, a.status, "%s", a.body)
		return a.object(t)["currentState"]
	}
	p.place("agv-1", 1, 1)
	requireProblem(t, change(http.MethodDelete, "maintenance"), 409, "DEVICE_STATE")
	require.Equal(t, "Maintenance", state(change(http.MethodPost, "maintenance")))
	require.Contains(t, p.refusal("agv-1", "c-1", "MoveTo", map[string]any{"x": 2, "y": 2}), "Maintenance")
	require.Equal(t, "Offline", state(change(http.MethodDelete, "maintenance")))
	require.Contains(t, p.refusal("agv-1", "c-2", "MoveTo", map[string]any{"x": 2, "y": 2}), "Offline")

	requireProblem(t, change(http.MethodPost, "provision"), 409, "DEVICE_STATE")
	require.Equal(t, "Decommissioned", state(change(http.MethodPost, "decommission")))
	p.place("agv-1", 1, 1)
	require.Contains(t, p.refusal("agv-1", "c-3", "MoveTo", map[string]any{"x": 2, "y": 2}), "Decommissioned")
	require.Equal(t, "Provisioned", state(change(http.MethodPost, "provision")))
	p.place("agv-1", 1, 1)
	require.Equal(t, 200, p.command(accounts.Operator, "agv-1", "c-4", "MoveTo", map[string]any{"x": 2, "y": 2}).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, devicesPath+"/x/decommission", nil), 404, "DEVICE_NOT_FOUND")
	require.Equal(t, []string{"c-4"}, m.executed())
}

// refusal gives a device a command that a policy must refuse, and returns the reason.
func (p *platform) refusal(device, id, kind string, parameters map[string]any) string {
	p.t.Helper()
	a := p.command(accounts.Operator, device, id, kind, parameters)
	require.Equal(p.t, http.StatusForbidden, a.status, "%s", a.body)
	require.Equal(p.t, "application/json", a.header.Get("Content-Type"))
	body := a.object(p.t)
	require.Equal(p.t, []string{"message", "reason"}, keys(body))
	require.Equal(p.t, "Safety violation", body["message"])
	return body["reason"].(string)
}

func TestHealthAndMetricsCountDevicesAndCommands(t *testing.T) {
	t.Parallel()
	var away atomic.Pointer[error]
	m := newMachine()
	p := start(t, withMachine(t, m, func(o *devicespart.Options) {
		o.Fleets[0].Open = func(context.Context, *devices.Service) (devicespart.Connection, error) {
			return devicespart.Connection{Executor: m, Err: func() error {
				if err := away.Load(); err != nil {
					return *err
				}
				return nil
			}}, nil
		}
	}))
	check := func() map[string]any {
		return p.call(nobody, http.MethodGet, "/health", nil).object(t)["results"].(map[string]any)["devices"].(map[string]any)
	}
	p.place("agv-1", 1, 1)
	require.Equal(t, 200, p.command(accounts.Operator, "agv-1", "c-1", "MoveTo", map[string]any{"x": 2, "y": 2}).status)
	p.refusal("agv-1", "c-2", "MoveTo", map[string]any{"x": 60, "y": 2})
	require.Equal(t, 200, p.command(accounts.Operator, "agv-2", "c-3", "EmergencyStop", nil).status)
	healthy := check()
	require.Equal(t, "Healthy", healthy["status"])
	require.Equal(t, "2 devices: 0 with faults, 1 with a latched emergency stop", healthy["description"])
	require.Equal(t, json.Number("1"), healthy["data"].(map[string]any)["Idle"])
	metrics := string(p.call(nobody, http.MethodGet, "/metrics", nil).body)
	for _, line := range []string{`otkit_devices{state="Idle"} 1`, `otkit_devices{state="Offline"} 1`, "otkit_devices_stopped 1",
		`otkit_device_commands_total{outcome="Succeeded"} 2`, `otkit_device_commands_total{outcome="Refused"} 1`,
		`otkit_device_commands_total{outcome="Lost"} 0`, `otkit_device_commands_refused_total{policy="geofence"} 1`, "otkit_device_safety_check_seconds_count"} {
		require.Contains(t, metrics, line)
	}
	err := errors.New("the broker at 10.0.0.1 is away")
	away.Store(&err)
	require.Eventually(t, func() bool { return check()["status"] == "Degraded" }, patience, 100*time.Millisecond)
	require.Equal(t, "fleets cannot be reached: hall", check()["description"], "addresses are nobody's business")
}

func TestZonesAreRead(t *testing.T) {
	t.Parallel()
	policies, err := safety.New(safety.Options{Zones: []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 30}, {0, 30}}, {{20, 10}, {22, 10}, {22, 12}}}},
		{Name: "gate", Map: "yard", Kind: safety.Speed, MaxSpeed: 0.5, Rings: [][][2]float64{{{0, 0}, {5, 0}, {5, 5}}}},
	}})
	require.NoError(t, err)
	p := start(t, func(o *engine.Options) { o.Devices.Safety = policies })
	const path = "/api/v1/device-zones"
	const hall = `{"kind":"allowed","map":"hall","name":"hall","rings":[[[0,0],[50,0],[50,30],[0,30]],[[20,10],[22,10],[22,12]]]}`
	const gate = `{"kind":"speed","map":"yard","maxSpeed":0.5,"name":"gate","rings":[[[0,0],[5,0],[5,5]]]}`
	require.JSONEq(t, `{"zones":[`+hall+","+gate+`]}`, string(p.get(path).body))
	require.JSONEq(t, `{"zones":[`+gate+`]}`, string(p.get(path+"?map=yard").body))
	require.JSONEq(t, `{"zones":[]}`, string(p.get(path+"?map=none").body))
	require.Equal(t, 401, p.callWrong(nobody, http.MethodGet, path, nil).status)

	own := start(t, func(o *engine.Options) { o.Devices.Safety = noZones{} })
	require.JSONEq(t, `{"zones":[]}`, string(own.get(path).body), "they are not known")
}

// noZones refuses everything, and tells no zones.
type noZones struct{}

func (noZones) Check(devices.Situation) devices.Decision { return devices.Decision{Policy: "none"} }

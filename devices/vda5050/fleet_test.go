package vda5050_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/vda5050"
	"github.com/otkit/otkit/internal/realtest"
)

// patience ends a wait that hangs.
const patience = time.Minute

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		require.False(t, time.Now().After(deadline), what)
	}
}

// broker runs Mosquitto on a port of its own.
type broker struct {
	t       *testing.T
	program string
	port    int
	config  string
	cmd     *exec.Cmd
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, program: realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto"), port: realtest.FreePort(t), config: filepath.Join(t.TempDir(), "mosquitto.conf")}
	require.NoError(t, os.WriteFile(b.config, []byte("listener "+strconv.Itoa(b.port)+" 127.0.0.1\nallow_anonymous true\n"), 0o600))
	b.start()
	t.Cleanup(b.stop)
	return b
}

func (b *broker) start() {
	b.t.Helper()
	b.cmd = exec.CommandContext(context.Background(), b.program, "-c", b.config)
	require.NoError(b.t, b.cmd.Start())
	eventually(b.t, "the broker does not listen", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(b.port))
		return err == nil && c.Close() == nil
	})
}

func (b *broker) stop() {
	if b.cmd != nil {
		_ = b.cmd.Process.Kill()
		_ = b.cmd.Wait()
		b.cmd = nil
	}
}

func (b *broker) url() string { return "mqtt://127.0.0.1:" + strconv.Itoa(b.port) }

// validate checks every message on the broker against the official schemas until the test ends, and that the named ones were seen. The
// SDK has the schemas of VDA 5050 2.1.0, unchanged.
func (b *broker) validate(names ...string) {
	b.t.Helper()
	folder, err := exec.CommandContext(b.t.Context(), sdk(b.t), "-c", "import vda5050.validation as v; print(v.SchemaValidator().directory, end='')").Output()
	require.NoError(b.t, err)
	schemas := map[string]*jsonschema.Schema{}
	for _, name := range []string{"order", "instantActions", "state", "connection", "visualization", "factsheet"} {
		compiled, err := jsonschema.NewCompiler().Compile(filepath.Join(string(folder), name+".json"))
		require.NoError(b.t, err)
		schemas[name] = compiled
	}
	u, err := url.Parse(b.url())
	require.NoError(b.t, err)
	var mu sync.Mutex
	var wrong []string
	seen := map[string]int{}
	conn, err := autopaho.NewConnection(context.Background(), autopaho.ClientConfig{ServerUrls: []*url.URL{u}, KeepAlive: 30,
		OnConnectionUp: func(c *autopaho.ConnectionManager, _ *paho.Connack) {
			_, _ = c.Subscribe(context.Background(), &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "uagv/#"}}}) // no message is seen without it
		},
		ClientConfig: paho.ClientConfig{ClientID: "validator", OnPublishReceived: []func(paho.PublishReceived) (bool, error){func(p paho.PublishReceived) (bool, error) {
			name := p.Packet.Topic[strings.LastIndexByte(p.Packet.Topic, '/')+1:]
			var message any
			err := json.Unmarshal(p.Packet.Payload, &message)
			if err == nil {
				err = schemas[name].Validate(message)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[name]++; err != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %v\n%s", name, err, p.Packet.Payload))
			}
			return true, nil
		}}}})
	require.NoError(b.t, err)
	require.NoError(b.t, conn.AwaitConnection(b.t.Context()))
	b.t.Cleanup(func() {
		_ = conn.Disconnect(context.Background()) // the broker may be gone
		mu.Lock()
		defer mu.Unlock()
		require.Empty(b.t, wrong)
		for _, name := range names {
			require.Positive(b.t, seen[name], "no %s was seen", name)
		}
	})
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "vehicle")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "vehicle")
	out, err := exec.Command("go", "build", "-o", path, "github.com/otkit/otkit/examples/vda5050-vehicle").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// vehicle starts a vehicle as a process of its own.
func (b *broker) vehicle(args ...string) *exec.Cmd {
	b.t.Helper()
	path, err := build()
	require.NoError(b.t, err)
	cmd := exec.CommandContext(context.Background(), path, append([]string{"-broker", b.url(), "-x", "5", "-y", "5", "-speed", "5"}, args...)...)
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// plant is a service whose device agv is a vehicle behind a broker.
type plant struct {
	*devices.Service
	t   *testing.T
	ids int
}

// ownVehicle is the vehicle of examples/vda5050-vehicle.
var ownVehicle = vda5050.Vehicle{DeviceID: "agv", Manufacturer: "otkit", SerialNumber: "agv-1"}

func newPlant(t *testing.T, b *broker, v vda5050.Vehicle, change ...func(*vda5050.Options)) *plant {
	t.Helper()
	policies, err := safety.New(safety.Options{Device: safety.Device{MaxSpeed: 5}, Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {100, 0}, {100, 100}, {0, 100}}}}}})
	require.NoError(t, err)
	var fleet *vda5050.Fleet
	s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: policies, Executor: func(string) devices.Executor { return fleet }})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), "agv", "AGV", "")
	require.NoError(t, err)
	o := vda5050.Options{URL: b.url(), Reports: s, Vehicles: []vda5050.Vehicle{v}, AcceptTimeout: patience}
	for _, c := range change {
		c(&o)
	}
	fleet, err = vda5050.Connect(t.Context(), o)
	require.NoError(t, err)
	p := &plant{Service: s, t: t}
	t.Cleanup(func() {
		stopping, cancel := context.WithCancel(context.Background())
		cancel() // commands that run are left to the vehicle
		require.NoError(t, s.Close(stopping))
		require.NoError(t, fleet.Close(context.Background()))
	})
	return p
}

func (p *plant) is(state devices.State) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for position := uint64(0); ; {
		d, err := p.Get("agv")
		require.NoError(p.t, err)
		if d.State == state {
			return
		}
		_, position, err = p.Changes(ctx, position)
		require.NoError(p.t, err, "the device is %s, not %s", d.State, state)
	}
}

func (p *plant) submit(ctx context.Context, kind string, parameters map[string]any) (devices.Record, error) {
	p.ids++
	return p.Submit(ctx, devices.Command{ID: fmt.Sprintf("command-%d", p.ids), DeviceID: "agv", Type: kind, Parameters: parameters}, "anna")
}

func (p *plant) do(kind string, parameters map[string]any) devices.Record {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	r, err := p.submit(ctx, kind, parameters)
	require.NoError(p.t, err, r.Decision.Reason)
	require.True(p.t, r.Phase.Ended(), r.Phase)
	return r
}

func to(x, y float64) map[string]any { return map[string]any{"x": x, "y": y} }

func TestVehicle(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.validate("order", "instantActions", "state", "connection", "factsheet")
	p := newPlant(t, b, ownVehicle)
	b.vehicle()
	p.is(devices.Idle)
	r := p.do(devices.MoveTo, to(9, 5))
	require.True(t, r.Result.Success, r.Result.Message)
	require.InDelta(t, 9, r.Result.Data["x"], 0.2)

	require.True(t, p.do(devices.PickUp, map[string]any{"target": "station 4"}).Result.Success)
	r = p.do(devices.PickUp, nil)
	require.False(t, r.Result.Success)
	require.Equal(t, "the vehicle reports: cannot pick", r.Result.Message)
	require.True(t, p.do(devices.MoveTo, to(7, 7)).Result.Success)
	require.True(t, p.do(devices.Release, nil).Result.Success)
	r = p.do("dance", map[string]any{"steps": 3.0})
	require.Equal(t, "the vehicle reports: unknown action dance", r.Result.Message)

	_, err := p.submit(t.Context(), devices.MoveTo, to(200, 5))
	require.ErrorIs(t, err, devices.ErrRefused)
}

func TestVehicleStops(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b, ownVehicle)
	b.vehicle()
	p.is(devices.Idle)
	p.stopOnTheWay()
}

func TestBrokerThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b, ownVehicle)
	b.vehicle()
	p.is(devices.Idle)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	order, err := p.submit(now, devices.MoveTo, to(15, 5))
	require.NoError(t, err)
	p.is(devices.Working)
	b.stop()
	p.is(devices.Offline)
	_, err = p.submit(now, devices.MoveTo, to(14, 5))
	require.NoError(t, err, "it waits for the first")
	b.start()
	eventually(t, "the order does not end", func() bool {
		found, err := p.Commands(t.Context(), devices.CommandQuery{ID: order.ID, Limit: 1})
		require.NoError(t, err)
		return found[0].Phase == devices.Succeeded
	})
	p.is(devices.Idle)
}

func TestVehicleThatIsKilledIsOffline(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	p := newPlant(t, b, ownVehicle)
	v := b.vehicle()
	p.is(devices.Idle)
	require.NoError(t, v.Process.Kill())
	p.is(devices.Offline) // by its last will
	r, err := p.submit(t.Context(), devices.MoveTo, to(9, 9))
	require.ErrorIs(t, err, devices.ErrRefused)
	require.NotEmpty(t, r.Decision.Reason)
	b.vehicle()
	p.is(devices.Idle)
	require.True(t, p.do(devices.MoveTo, to(9, 9)).Result.Success)
}

// The vehicle remembers the orders of both, and a broker lets one client of a name in.
func TestTwoFleetsWithTheSameCommandIDs(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.vehicle()
	first, second := newPlant(t, b, ownVehicle), newPlant(t, b, ownVehicle)
	for p, x := range map[*plant]float64{first: 9, second: 7} {
		p.is(devices.Idle)
		r := p.do(devices.MoveTo, to(x, 5))
		require.True(t, r.Result.Success, r.Result.Message)
		require.InDelta(t, x, r.Result.Data["x"], 0.2)
	}
}

func TestBadOptionsNameTheirField(t *testing.T) {
	t.Parallel()
	good := vda5050.Options{URL: "mqtt://127.0.0.1:1", Reports: &devices.Service{}, Vehicles: []vda5050.Vehicle{{DeviceID: "a", Manufacturer: "m", SerialNumber: "1"}}}
	for want, change := range map[string]func(*vda5050.Options){
		"Options.URL":      func(o *vda5050.Options) { o.URL = "http://x" },
		"Options.Reports":  func(o *vda5050.Options) { o.Reports = nil },
		"Options.Vehicles": func(o *vda5050.Options) { o.Vehicles = nil },
		"Options.Vehicles[0]": func(o *vda5050.Options) {
			o.Vehicles = []vda5050.Vehicle{{DeviceID: "a", Manufacturer: "m/n", SerialNumber: "1"}}
		},
		"Options.Vehicles[0].DeviceID": func(o *vda5050.Options) { o.Vehicles = []vda5050.Vehicle{{Manufacturer: "m", SerialNumber: "1"}} },
		"Options.KeepAlive":            func(o *vda5050.Options) { o.KeepAlive = 1500 * time.Millisecond },
		"Options.Interface":            func(o *vda5050.Options) { o.Interface = "a/b" },
	} {
		o := good
		change(&o)
		_, err := vda5050.Connect(t.Context(), o)
		require.ErrorContains(t, err, want)
	}
}

//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// fleetOfEngines is engines on one PostgreSQL that share a vehicle behind a real broker.
type fleetOfEngines struct {
	t       *testing.T
	env     []string
	data    []string
	engines []*engine
	api     []*session
}

func newFleetOfEngines(t *testing.T, count int) *fleetOfEngines {
	mosquitto, port := realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto"), realtest.FreePort(t)
	vehicle := filepath.Join(t.TempDir(), "vehicle")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", vehicle, repository+"/examples/vda5050-vehicle").CombinedOutput()
	require.NoError(t, err, "%s", out)
	broker := fmt.Sprintf("mqtt://127.0.0.1:%d", port)
	config := file(t, "mosquitto.conf", fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\n", port))
	for _, args := range [][]string{{mosquitto, "-c", config}, {vehicle, "-broker", broker, "-x", "5", "-y", "5", "-speed", "0.5", "-serial", "0001"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) // ends with the test
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
	}
	f := &fleetOfEngines{t: t, env: with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + pgtest.DSN(t), "Devices__CommandWait=15s", "Devices__Safety__MaxAge=1m",
		"Devices__OfflineAfter=2m", "Devices__Safety__ZonesFile=examples/devices-zones.geojson", "Devices__Vda5050__Url=" + broker,
		"Devices__Vda5050__Vehicles__0__DeviceId=agv", "Devices__Vda5050__Vehicles__0__Manufacturer=otkit", "Devices__Vda5050__Vehicles__0__SerialNumber=0001"}, known)}
	for i := range count {
		f.data = append(f.data, t.TempDir())
		f.engines, f.api = append(f.engines, nil), append(f.api, nil)
		f.start(i)
	}
	return f
}

func (f *fleetOfEngines) start(i int) {
	f.engines[i] = start(f.t, f.env, "-data", f.data[i])
	if i == 0 && f.api[0] == nil {
		f.api[0] = f.engines[0].admin()
		return
	}
	f.api[i] = f.engines[i].with(f.api[0].token)
}

// owner returns the engine that has the devices.
func (f *fleetOfEngines) owner(ask int) (owner int) {
	f.t.Helper()
	eventually(f.t, "no engine has the devices", func() bool {
		list, err := f.api[ask].ListEnginesWithResponse(f.t.Context())
		require.NoError(f.t, err)
		require.NotNil(f.t, list.JSON200, "%s %s", list.Status(), list.Body)
		owner = slices.IndexFunc(f.api, func(s *session) bool {
			return slices.ContainsFunc(list.JSON200.Engines, func(e client.EngineStatus) bool { return e.Owned["device"] == 1 && f.id(s) == e.ID })
		})
		return owner >= 0
	})
	return owner
}

// id returns the id of an engine; empty if it does not answer.
func (f *fleetOfEngines) id(s *session) string {
	list, err := s.ListEnginesWithResponse(f.t.Context())
	if err != nil || list.JSON200 == nil {
		return ""
	}
	i := slices.IndexFunc(list.JSON200.Engines, func(e client.EngineStatus) bool { return e.Self })
	return list.JSON200.Engines[i].ID
}

// is waits until engines show the vehicle in a state.
func (f *fleetOfEngines) is(state client.DeviceState, engines ...int) {
	f.t.Helper()
	for _, i := range engines {
		eventually(f.t, fmt.Sprintf("engine %d does not show %s", i, state), func() bool {
			d, err := f.api[i].GetDeviceWithResponse(f.t.Context(), "agv")
			require.NoError(f.t, err)
			return d.StatusCode() == http.StatusOK && d.JSON200.CurrentState == state && !d.JSON200.Unheard
		})
	}
}

func (f *fleetOfEngines) command(i int, id, kind string, parameters map[string]any) client.CommandResult {
	f.t.Helper()
	answer, err := f.api[i].SubmitDeviceCommandWithResponse(f.t.Context(), "agv", client.DeviceCommand{CommandID: id, DeviceID: "agv", CommandType: kind, Parameters: parameters})
	require.NoError(f.t, err)
	require.NotNil(f.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return *answer.JSON200
}

// The engine that has a vehicle is killed or stopped while the vehicle drives: an emergency stop on another engine stops it within seconds, and what
// it did is Lost in the journal. It is driven on from there, by whichever engine is asked. With OTKIT_CAMPAIGN=1 that happens 30 times.
func TestEnginesShareAVehicle(t *testing.T) {
	if os.Getenv("OTKIT_CAMPAIGN") == "" {
		t.Parallel()
	}
	rounds := 2
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		rounds = 30
	}
	f := newFleetOfEngines(t, 3)
	all := []int{0, 1, 2}
	var took []time.Duration
	for round := range rounds {
		f.is("Idle", all...)
		owner := f.owner(0)
		other, third := (owner+1)%3, (owner+2)%3
		x, _ := f.api[other].position("agv")
		target := 18.0
		if x > 11 {
			target = 5
		}
		moved := make(chan client.CommandResult, 1)
		go func() {
			moved <- f.command(third, fmt.Sprint("move-", round), "MoveTo", map[string]any{"x": target, "y": 5.0})
		}()
		f.is("Working", all...)
		kill := round%2 == 0
		if kill {
			f.engines[owner].kill()
		} else {
			f.engines[owner].signal(syscall.SIGSTOP)
		}
		at := time.Now()
		stopped := f.command(other, fmt.Sprint("stop-", round), "EmergencyStop", nil)
		took = append(took, time.Since(at).Round(time.Millisecond))
		require.True(t, stopped.Success, "%v %v", stopped.State, stopped.Message)
		lost := <-moved
		require.Contains(t, []client.CommandPhase{client.CommandLost, client.CommandCanceled}, lost.State)
		require.NotEqual(t, owner, f.owner(other))
		f.is("Idle", other, third)
		where, _ := f.api[third].position("agv")
		time.Sleep(500 * time.Millisecond)
		still, _ := f.api[third].position("agv")
		require.InDelta(t, where, still, 0.001)
		if kill {
			f.start(owner)
		} else {
			f.engines[owner].signal(syscall.SIGCONT)
		}
		f.is("Idle", all...)
		reset := f.command(owner, fmt.Sprint("reset-", round), "ResetEmergencyStop", nil)
		require.True(t, reset.Success, "%v", reset.Message)
	}
	slices.Sort(took)
	t.Logf("emergency stops of %d took %s to %s, median %s", rounds, took[0], took[len(took)-1], took[len(took)/2])
}

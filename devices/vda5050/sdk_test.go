package vda5050_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/vda5050"
	"github.com/otkit/otkit/internal/piptest"
)

var installing sync.Mutex

// sdk returns the python with vda5050-sdk, an implementation of both sides that is not ours.
func sdk(t *testing.T) string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	return piptest.Need(t, "vda5050-sdk==0.2.0", "aiomqtt==2.5.1", "paho-mqtt==2.2.0", "pydantic==2.14.3", "jsonschema==4.26.0")
}

// sdkVehicle is the vehicle of testdata/sdk_vehicle.py.
var sdkVehicle = vda5050.Vehicle{DeviceID: "agv", Manufacturer: "other maker", SerialNumber: "sdk-1"}

func (b *broker) startSDK(x, y string) *exec.Cmd {
	b.t.Helper()
	cmd := exec.CommandContext(context.Background(), sdk(b.t), "testdata/sdk_vehicle.py", strconv.Itoa(b.port), x, y)
	cmd.Stderr = os.Stderr
	require.NoError(b.t, cmd.Start())
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// The SDK cannot do two things, so that they are not tested with it: its transport does not connect again when the broker was away, and
// an action that fails leaves the vehicle with a fatal error that only the program around the SDK could clear.
func TestVehicleOfTheSDK(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.validate("order", "instantActions", "state", "connection", "visualization", "factsheet")
	p := newPlant(t, b, sdkVehicle)
	process := b.startSDK("5", "5")
	p.standsAt(5, 5)

	for _, c := range []struct {
		kind       string
		parameters map[string]any
		loads      []string
	}{
		{devices.MoveTo, to(9, 6), nil},
		{devices.PickUp, map[string]any{"target": "station 4"}, []string{"box"}},
		{devices.MoveTo, to(5, 5), []string{"box"}},
		{devices.Release, nil, nil},
		{devices.PickUp, nil, []string{"box"}}, // where it stands
	} {
		r := p.do(c.kind, c.parameters)
		require.True(t, r.Result.Success, "%s: %s", c.kind, r.Result.Message)
		if c.kind == devices.MoveTo {
			require.InDelta(t, c.parameters["x"], r.Result.Data["x"], 0.2)
			require.InDelta(t, c.parameters["y"], r.Result.Data["y"], 0.2)
		}
		d, err := p.Get("agv")
		require.NoError(t, err)
		require.Equal(t, c.loads, d.Telemetry.Loads)
	}
	r := p.do("dance", nil)
	require.Equal(t, "the vehicle reports: unsupported actionType", r.Result.Message)

	p.stopOnTheWay()

	require.NoError(t, process.Process.Kill())
	p.is(devices.Offline)
	_, err := p.submit(t.Context(), devices.MoveTo, to(9, 9))
	require.ErrorIs(t, err, devices.ErrRefused)
	b.startSDK("20", "20")
	p.standsAt(20, 20)
	r = p.do(devices.MoveTo, to(21, 20))
	require.True(t, r.Result.Success, r.Result.Message)
}

// standsAt waits until the vehicle is idle and has reported where it stands: the SDK reports once without a position when it connects.
func (p *plant) standsAt(x, y float64) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		d, err := p.Get("agv")
		return err == nil && d.State == devices.Idle && d.Telemetry.Pose != nil && d.Telemetry.Pose.X == x && d.Telemetry.Pose.Y == y
	}, patience, 5*time.Millisecond)
}

// stopOnTheWay cancels a move, ends another one by an emergency stop, and lets the vehicle drive again.
func (p *plant) stopOnTheWay() {
	p.t.Helper()
	now, cancel := context.WithCancel(p.t.Context())
	cancel() // does not wait for the end
	far, err := p.submit(now, devices.MoveTo, to(90, 90))
	require.NoError(p.t, err)
	p.is(devices.Working)
	r, err := p.Cancel(p.t.Context(), far.ID, "bob")
	require.NoError(p.t, err)
	require.Equal(p.t, devices.Canceled, r.Phase)
	p.is(devices.Idle)

	_, err = p.submit(now, devices.MoveTo, to(90, 90))
	require.NoError(p.t, err)
	p.is(devices.Working)
	require.True(p.t, p.do(devices.EmergencyStop, nil).Result.Success)
	p.is(devices.Idle)
	d, err := p.Get("agv")
	require.NoError(p.t, err)
	require.True(p.t, d.StopLatched)
	require.Less(p.t, d.Telemetry.Pose.X, 80.0, "it stopped on the way")
	_, err = p.submit(p.t.Context(), devices.MoveTo, to(9, 9))
	require.ErrorIs(p.t, err, devices.ErrRefused)
	require.True(p.t, p.do(devices.ResetEmergencyStop, nil).Result.Success)
	require.True(p.t, p.do(devices.MoveTo, to(d.Telemetry.Pose.X+1, d.Telemetry.Pose.Y)).Result.Success)
}

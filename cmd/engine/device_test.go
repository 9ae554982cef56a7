package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

var devicePortLine = regexp.MustCompile(`API of devices alone: (http://(\S+))/api/v1/devices\n`)

// devicePort is a session of the administrator over the port of the devices.
func (e *engine) devicePort() *session {
	e.t.Helper()
	found := devicePortLine.FindStringSubmatch(e.out.String())
	require.NotNil(e.t, found, e.out.String())
	return connect(e.t, found[1], found[2], e.admin().token, http.DefaultClient, insecure.NewCredentials())
}

// move commands a device to a place and returns the answer.
func (s *session) move(id, commandID string, x, y float64) *client.SubmitDeviceCommandResponse {
	s.t.Helper()
	parameters := map[string]any{"x": x, "y": y}
	answer, err := s.SubmitDeviceCommandWithResponse(s.t.Context(), id, client.DeviceCommand{CommandID: commandID, DeviceID: id, CommandType: "MoveTo", Parameters: parameters})
	require.NoError(s.t, err)
	return answer
}

// An engine whose devices and zones are settings alone lets a robot move where it may, and refuses the way through a keep-out zone;
// both over the second port, which has nothing else.
func TestRobotsOfSettingsOnThePortOfDevices(t *testing.T) {
	t.Parallel()
	e := start(t, append(known, "Server__DeviceListen=127.0.0.1:0", "Devices__CommandWait=50s", "Devices__Safety__MaxAge=1m", "Devices__Simulated__Step=20ms"),
		"-config", "examples/devices-engine.yaml", "-data", t.TempDir())
	s := e.devicePort()
	eventually(t, "the robots do not report", func() bool {
		list, err := s.ListDevicesWithResponse(t.Context())
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, list.StatusCode(), "%s", list.Body)
		idle := 0
		for _, d := range *list.JSON200 {
			if d.CurrentState == "Idle" {
				idle++
			}
		}
		return idle == 3
	})

	done := s.move("agv-1", "c1", 7, 5)
	require.Equal(t, http.StatusOK, done.StatusCode(), "%s", done.Body)
	require.True(t, done.JSON200.Success, "%s", done.Body)

	refused := s.move("agv-1", "c2", 35, 15)
	require.Equal(t, http.StatusForbidden, refused.StatusCode())
	require.JSONEq(t, `{"message": "Safety violation", "reason": "geofence: the way to (35.00, 15.00) touches keep-out zone \"press\", the device needs 0.50 m around it"}`,
		string(refused.Body))

	scaffold := s.move("agv-2", "c3", 35, 17)
	require.Equal(t, http.StatusForbidden, scaffold.StatusCode())
	require.Contains(t, string(scaffold.Body), `\"scaffold\"`, "a zone of the settings")

	for path, want := range map[string]int{"/health/live": 200, "/health/ready": 200, "/api/v1/tags": 404, "/docs": 404, "/metrics": 404} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+s.token)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, path)
	}
	e.stop()
	_, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.Error(t, err)
}

func TestThePortOfDevicesIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	r := run(t, []string{"Server__DeviceListen=" + taken.Addr().String()}, "", "-data", t.TempDir(), "-listen", "127.0.0.1:0")
	r.refused(t, "port of devices", taken.Addr().String(), "address already in use")
}

func TestABadFileOfZonesStopsTheStart(t *testing.T) {
	t.Parallel()
	zones := file(t, "zones.geojson", `{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "gate", "map": "m", "kind": "slow"},
		"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]]}}]}`)
	r := run(t, []string{"Devices__Safety__ZonesFile=" + zones}, "", "-data", filepath.Join(t.TempDir(), "data"), "-listen", "127.0.0.1:0")
	r.refused(t, "devices.safety.zonesFile", zones, `features[0] ("gate")`, `kind must be "allowed", "keepOut" or "speed"`)
}

// A vehicle that the settings name is driven over a real broker, behind the policies.
func TestAVehicleOfSettingsOverARealBroker(t *testing.T) {
	t.Parallel()
	mosquitto, port := realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto"), realtest.FreePort(t)
	vehicle := filepath.Join(t.TempDir(), "vehicle")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", vehicle, repository+"/examples/vda5050-vehicle").CombinedOutput()
	require.NoError(t, err, "%s", out)
	broker := fmt.Sprintf("mqtt://127.0.0.1:%d", port)
	config := file(t, "mosquitto.conf", fmt.Sprintf("listener %d 127.0.0.1\nallow_anonymous true\n", port))
	var programs []*exec.Cmd
	for _, args := range [][]string{{mosquitto, "-c", config}, {vehicle, "-broker", broker, "-x", "5", "-y", "5", "-serial", "0001"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) // ends with the test
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
		programs = append(programs, cmd)
	}
	e := start(t, append(known, "Server__DeviceListen=127.0.0.1:0", "Devices__CommandWait=50s", "Devices__Safety__MaxAge=1m", "Devices__OfflineAfter=2m",
		"Devices__Safety__ZonesFile=examples/devices-zones.geojson", "Devices__Vda5050__Url="+broker,
		"Devices__Vda5050__Vehicles__0__DeviceId=agv-3", "Devices__Vda5050__Vehicles__0__Manufacturer=otkit", "Devices__Vda5050__Vehicles__0__SerialNumber=0001"),
		"-data", t.TempDir())
	s := e.devicePort()
	eventually(t, "the vehicle does not report", func() bool {
		d, err := s.GetDeviceWithResponse(t.Context(), "agv-3")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, d.StatusCode(), "%s", d.Body)
		return d.JSON200.CurrentState == "Idle"
	})
	done := s.move("agv-3", "c1", 6, 5)
	require.Equal(t, http.StatusOK, done.StatusCode(), "%s", done.Body)
	require.True(t, done.JSON200.Success, "%s", done.Body)
	refused := s.move("agv-3", "c2", 35, 15)
	require.Equal(t, http.StatusForbidden, refused.StatusCode(), "%s", refused.Body)
	require.Contains(t, string(refused.Body), `keep-out zone \"press\"`)

	require.NoError(t, programs[0].Process.Kill())
	eventually(t, "health does not show that the broker is away", func() bool {
		resp, err := http.Get(e.url + "/health")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return strings.Contains(string(body), "fleets cannot be reached: vda5050")
	})
}

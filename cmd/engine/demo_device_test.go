package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

func TestTheDemoClaimsNoDevicesThatItOmits(t *testing.T) {
	t.Parallel()
	e := start(t, append(slices.Clone(known), "Devices__Simulated__Robots__0__Id=sim-amr-1"), "-demo", "-data", t.TempDir())
	require.Contains(t, e.out.String(), "Demo plant: tags")
	require.NotContains(t, e.out.String(), "sim-arm-1")
}

func TestTheDevicesOfTheDemoDriveAround(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-demo", "-data", t.TempDir())
	require.Contains(t, e.out.String(), "sim-amr-1 and sim-arm-1")
	s := e.admin()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/devices/stream?access_token="+s.token, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	places, arm := map[float64]bool{}, map[client.DeviceState]bool{}
	lines := bufio.NewScanner(answer.Body)
	for (len(places) < 4 || !arm["Working"]) && lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var changes client.DeviceChanges
		require.NoError(t, json.Unmarshal([]byte(data), &changes))
		for _, d := range changes.Devices {
			switch {
			case d.Telemetry == nil:
			case d.Device.DeviceID == "sim-amr-1":
				places[*d.Telemetry.Position.X] = true
			case d.Device.DeviceID == "sim-arm-1":
				arm[d.Device.CurrentState] = true
			}
		}
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, len(places), 4, "the robot moves")

	s.good("devices.sim-amr-1.x")
	require.Equal(t, "m", s.read("devices.sim-amr-1.x").Unit)
	require.Equal(t, client.ReadOnly, s.read("devices.sim-amr-1.x").AccessMode)
	eventually(t, "the robot has no shell", func() bool {
		shell, err := s.GetShellWithResponse(t.Context(), "urn:otkit:device:sim-amr-1", nil)
		require.NoError(t, err)
		return shell.StatusCode() == http.StatusOK && strings.Contains(string(shell.Body), "urn:otkit:device:sim-amr-1:OperationalData")
	})

	refused := s.move("sim-amr-1", "through the press", 25, 15)
	require.Equal(t, http.StatusForbidden, refused.StatusCode(), "%s", refused.Body)
	require.Contains(t, string(refused.Body), `keep-out zone \"press\"`)
	e.stop()
	require.NotContains(t, e.log.String(), "level=ERROR")
	require.NotContains(t, e.log.String(), "level=WARN")
}

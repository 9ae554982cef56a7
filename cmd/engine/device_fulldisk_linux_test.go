package main_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// On a full disk nothing can be audited or journaled: devices get no commands, but they stop.
func TestEmergencyStopOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	e := start(t, append(known, "Server__DeviceListen=127.0.0.1:0", "Devices__Safety__MaxAge=1m", "Devices__Simulated__Step=20ms"),
		"-config", "examples/devices-engine.yaml", "-data", filepath.Join(disk, "data"))
	s := e.devicePort()
	stopped := func() bool {
		got, err := s.GetDeviceTelemetryWithResponse(t.Context(), "agv-1")
		require.NoError(t, err)
		return got.JSON200 != nil && got.JSON200.EmergencyStop == "Remote"
	}
	eventually(t, "the robot does not report", func() bool {
		got, err := s.GetDeviceTelemetryWithResponse(t.Context(), "agv-1")
		require.NoError(t, err)
		return got.JSON200 != nil
	})
	free := fill(t, disk)
	sent := 0
	eventually(t, "a full disk refuses no command", func() bool {
		sent++
		return s.move("agv-2", fmt.Sprint("c", sent), 7, 5).StatusCode() == http.StatusServiceUnavailable
	})
	began := time.Now()
	answer, err := s.SubmitDeviceCommandWithResponse(t.Context(), "agv-1", client.DeviceCommand{CommandID: "stop", DeviceID: "agv-1", CommandType: "EmergencyStop"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode(), "%s", answer.Body)
	require.True(t, answer.JSON200.Success, "%s", answer.Body)
	t.Logf("the answer to the stop took %s", time.Since(began))
	eventually(t, "the robot does not stop", stopped)
	free()
	eventually(t, "the stop is not journaled when there is room again", func() bool {
		got, err := s.GetDeviceCommandWithResponse(t.Context(), "agv-1", "stop")
		require.NoError(t, err)
		return got.JSON200 != nil && got.JSON200.State == "Succeeded"
	})
}

package main_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/openapi/client"
)

// crashPlant has robots that need minutes for a way, and one that is there soon.
const crashPlant = `
devices:
  commandWait: 100ms
  safety:
    zones:
      - {name: hall, map: hall, kind: allowed, points: [0, 0, 50, 30]}
  simulated:
    step: 50ms
    robots:
      - {id: slow-1, map: hall, x: 2, y: 2, speed: 0.1}
      - {id: slow-2, map: hall, x: 2, y: 8, speed: 0.1}
      - {id: fast, map: hall, x: 2, y: 20, speed: 1}
`

// journal returns the commands of a device by id, from all pages.
func (s *session) journal(device string) map[string]client.DeviceCommandRecord {
	s.t.Helper()
	found, params := map[string]client.DeviceCommandRecord{}, &client.ListDeviceCommandsParams{Limit: new(7)}
	for {
		page, err := s.ListDeviceCommandsWithResponse(s.t.Context(), device, params)
		require.NoError(s.t, err)
		require.NotNil(s.t, page.JSON200, "%s %s", page.Status(), page.Body)
		for _, c := range page.JSON200.Commands {
			require.NotContains(s.t, found, c.CommandID)
			found[c.CommandID] = c
		}
		if params.Before = page.JSON200.Next; params.Before == "" {
			return found
		}
	}
}

// commandUntilGone moves a robot to and fro until the engine is gone. It returns the outcomes that were answered, by command.
func (s *session) commandUntilGone(ctx context.Context, device string, progress chan<- struct{}) map[string]bool {
	answered := map[string]bool{}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", device, n)
		answer, err := s.SubmitDeviceCommandWithResponse(ctx, device, client.DeviceCommand{CommandID: id, DeviceID: device, CommandType: "MoveTo",
			Parameters: map[string]any{"x": 2 + float64(n%2)*0.01, "y": 20}})
		if err != nil {
			return answered
		}
		if answer.JSON200 != nil && answer.JSON200.CompletedAt != nil {
			answered[id] = answer.JSON200.Success
		}
		select {
		case progress <- struct{}{}:
		default:
		}
	}
}

// position returns where a device is, once it has reported.
func (s *session) position(device string) (x, y float64) {
	s.t.Helper()
	eventually(s.t, device+" does not report", func() bool {
		got, err := s.GetDeviceTelemetryWithResponse(s.t.Context(), device)
		require.NoError(s.t, err)
		if got.JSON200 == nil || got.JSON200.AgeSeconds > 2 {
			return false
		}
		x, y = *got.JSON200.Position.X, *got.JSON200.Position.Y
		return true
	})
	return x, y
}

// What runs when the engine is killed is in the journal afterwards with an outcome that is true: unknown. It is not begun again,
// neither by the engine nor by a client that repeats its call.
func TestKill9WithCommandsInFlightRepeatsNone(t *testing.T) {
	t.Parallel()
	data, config := t.TempDir(), file(t, "engine.yaml", crashPlant)
	e := start(t, known, "-config", config, "-data", data)
	s := e.admin()
	running := map[string]client.DeviceCommand{}
	for _, device := range []string{"slow-1", "slow-2"} {
		_, y := s.position(device)
		for _, n := range []string{"runs", "waits"} {
			command := client.DeviceCommand{CommandID: device + "-" + n, DeviceID: device, CommandType: "MoveTo", Parameters: map[string]any{"x": 40, "y": y}}
			answer, err := s.SubmitDeviceCommandWithResponse(t.Context(), device, command)
			require.NoError(t, err)
			require.NotNil(t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
			require.Equal(t, map[string]any{"state": map[string]string{"runs": "Running", "waits": "Queued"}[n]}, answer.JSON200.Data)
			running[command.CommandID] = command
		}
	}
	s.position("fast")
	progress := make(chan struct{}, 20)
	var answered map[string]bool
	var load sync.WaitGroup
	load.Go(func() { answered = s.commandUntilGone(t.Context(), "fast", progress) })
	for range cap(progress) {
		<-progress
	}
	e.kill()
	load.Wait()
	require.NotEmpty(t, answered)

	e = start(t, known, "-config", config, "-data", data)
	s = e.with(s.token)
	for _, device := range []string{"slow-1", "slow-2"} {
		journal := s.journal(device)
		require.Equal(t, []string{device + "-runs", device + "-waits"}, slices.Sorted(maps.Keys(journal)))
		lost := journal[device+"-runs"]
		require.Equal(t, client.CommandLost, lost.State)
		require.False(t, lost.Result.Success)
		require.Contains(t, *lost.Result.Message, "what the device did is not known")
		require.NotNil(t, lost.Result.CompletedAt)
		require.Equal(t, "admin", lost.IssuedBy)
		require.Equal(t, client.CommandCanceled, journal[device+"-waits"].State, "it was never begun")
	}
	for id, c := range s.journal("fast") {
		require.NotContains(t, []client.CommandPhase{client.CommandQueued, client.CommandRunning}, c.State, id)
		if success, ok := answered[id]; ok {
			require.Equal(t, success, c.Result.Success, "%s: what was answered remains so", id)
			delete(answered, id)
		}
	}
	require.Empty(t, answered, "what was answered is in the journal")

	for id, command := range running {
		answer, err := s.SubmitDeviceCommandWithResponse(t.Context(), command.DeviceID, command)
		require.NoError(t, err)
		require.NotNil(t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
		require.False(t, answer.JSON200.Success, id)
		require.NotNil(t, answer.JSON200.CompletedAt, id)
	}
	time.Sleep(500 * time.Millisecond) // ten steps, for a robot that moves to show it
	for _, device := range []string{"slow-1", "slow-2"} {
		x, _ := s.position(device)
		require.InDelta(t, 2.0, x, 0, "%s moves although nobody told it again", device)
		require.Len(t, s.journal(device), 2)
	}
	again, err := s.SubmitDeviceCommandWithResponse(t.Context(), "slow-1", client.DeviceCommand{CommandID: "again", DeviceID: "slow-1",
		CommandType: "MoveTo", Parameters: map[string]any{"x": 2.05, "y": 2}})
	require.NoError(t, err)
	require.NotNil(t, again.JSON200, "%s %s", again.Status(), again.Body)
	e.says("command=again device=slow-1 type=MoveTo by=admin outcome=Succeeded")
}

// An outside device needs no executor to be known: it reports by itself. What nobody can carry out fails by itself and not by a policy.
func TestAnOutsideDeviceReportsAndIsJudged(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-config", file(t, "engine.yaml", crashPlant+"log: {format: json}\n"), "-data", t.TempDir())
	s := e.admin()
	created, err := s.CreateDeviceWithResponse(t.Context(), client.CreateDeviceRequest{DeviceID: "agv-9", Name: "Tugger"})
	require.NoError(t, err)
	require.NotNil(t, created.JSON201, "%s %s", created.Status(), created.Body)
	require.Equal(t, "/api/v1/devices/agv-9", created.HTTPResponse.Header.Get("Location"))
	move := func(id string, x float64) *client.SubmitDeviceCommandResponse {
		answer, err := s.SubmitDeviceCommandWithResponse(t.Context(), "agv-9", client.DeviceCommand{CommandID: id, DeviceID: "agv-9", CommandType: "MoveTo",
			Parameters: map[string]any{"x": x, "y": 25}})
		require.NoError(t, err)
		return answer
	}
	silent := move("c-1", 5)
	require.NotNil(t, silent.JSON403, "%s %s", silent.Status(), silent.Body)
	x, y := 30.0, 25.0
	report, err := s.ReportDeviceTelemetryWithResponse(t.Context(), "agv-9", client.DeviceReport{Position: &client.DevicePosition{Map: "hall", X: &x, Y: &y},
		Battery: new(80.0), State: "Idle"})
	require.NoError(t, err)
	require.Equal(t, 204, report.StatusCode(), "%s", report.Body)
	outside := move("c-2", 70)
	require.NotNil(t, outside.JSON403, "%s %s", outside.Status(), outside.Body)
	require.Equal(t, "Safety violation", outside.JSON403.Message)
	require.Contains(t, outside.JSON403.Reason, "geofence")
	inside := move("c-3", 35)
	require.NotNil(t, inside.JSON200, "%s %s", inside.Status(), inside.Body)
	require.False(t, inside.JSON200.Success)
	require.Equal(t, "nothing carries out commands of this device", *inside.JSON200.Message)
	lines := e.await("device command ended", 3)
	last := lines[len(lines)-1]
	require.Equal(t, []any{"c-3", "agv-9", "admin", "Failed"}, []any{last["command"], last["device"], last["by"], last["outcome"]})
}

package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
)

func TestTheDemonstrationHubOfTheEngine(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-demo", "-data", t.TempDir())
	s := e.admin()
	s.good("sim.running")
	s.good("devices.sim-amr-1.x") // both drivers run
	options, err := json.Marshal(map[string]string{"url": e.url + "/hubs/demo", "transport": "WebSockets", "token": s.token})
	require.NoError(t, err)
	cmd := npmtest.Command(t, npmtest.Need(t, "@microsoft/signalr@10.0.11"), repository+"/transport/server/testdata/hub.cjs", string(options))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // ends the wait for a line
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	type alarm struct {
		ID, Source, Message, Severity string
		IsActive                      bool
	}
	type ingestion struct {
		TagsPerSecond float64
		TotalSamples  uint64
		Drivers       int
		Timestamp     time.Time
	}
	var (
		raised  []alarm
		stats   []ingestion
		written bool
	)
	for lines := bufio.NewScanner(stdout); len(stats) < 4 || len(raised) == 0 || stats[len(stats)-1].TotalSamples == stats[0].TotalSamples; {
		require.True(t, lines.Scan(), "%v, after %v and %v", lines.Err(), raised, stats)
		var got struct {
			Event string
			Args  []json.RawMessage
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got), lines.Text())
		switch got.Event {
		case "started":
		case "OnAlarmRaised":
			var a alarm
			require.NoError(t, json.Unmarshal(got.Args[0], &a))
			if a.Source == "sim.running" { // other rules of the plant fire now and then
				raised = append(raised, a)
			}
		case "OnIngestionStats":
			var i ingestion
			require.NoError(t, json.Unmarshal(got.Args[0], &i))
			stats = append(stats, i)
		default:
			require.Fail(t, "unknown event", lines.Text())
		}
		if !written && len(stats) > 0 {
			written = true
			s.write("sim", "running", "false", true)
		}
	}
	require.Len(t, raised, 1)
	require.Equal(t, s.activeAlarms()["sim.running"].ID, raised[0].ID)
	require.Contains(t, raised[0].Message, "sim.running is false")
	require.Equal(t, "Info", raised[0].Severity)
	require.True(t, raised[0].IsActive)
	fastest := 0.0
	for i, one := range stats {
		require.Equal(t, 2, one.Drivers)
		fastest = max(fastest, one.TagsPerSecond)
		if i > 0 {
			require.GreaterOrEqual(t, one.TotalSamples, stats[i-1].TotalSamples)
			require.True(t, one.Timestamp.After(stats[i-1].Timestamp))
		}
	}
	require.Positive(t, fastest)
}

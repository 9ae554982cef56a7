package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/openapi/client"
)

// listenToAlarms connects the stock client and gives a function that waits for an alarm whose message
// begins with a text, and gives its severity.
func (s *session) listenToAlarms(url string) (await func(beginning string) (severity string)) {
	options, err := json.Marshal(map[string]string{"url": url + "/hubs/alarms", "transport": "WebSockets", "token": s.token})
	require.NoError(s.t, err)
	cmd := npmtest.Command(s.t, npmtest.Need(s.t, "@microsoft/signalr@10.0.11"), repository+"/transport/server/testdata/hub.cjs", string(options))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(s.t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // ends the wait for a line
	s.t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
		late.Stop()
	})
	lines := bufio.NewScanner(stdout)
	next := func() (event string, args []string) {
		require.True(s.t, lines.Scan(), "no more events: %v", lines.Err())
		var got struct {
			Event string
			Args  []string
		}
		require.NoError(s.t, json.Unmarshal(lines.Bytes(), &got), lines.Text())
		return got.Event, got.Args
	}
	started, _ := next()
	require.Equal(s.t, "started", started)
	return func(beginning string) string {
		for {
			if event, args := next(); event == "ReceiveAlarm" && strings.HasPrefix(args[0], beginning) {
				return args[1]
			}
		}
	}
}

func TestADeviceThatIsSwitchedOffIsAnAlarm(t *testing.T) {
	t.Parallel()
	device := newForeignPLC(t)
	device.on(t)
	t.Cleanup(func() { device.off(t) })
	env := with(known, []string{"Drivers__0__Port=" + strconv.Itoa(device.port()), "Drivers__0__BackoffMaxMs=1000", "Alarms__DriverOffline__Delay=2s"})
	args := []string{"-config", "examples/modbus-engine.yaml", "-data", t.TempDir()}
	e := start(t, env, args...)
	s := e.admin()
	s.good("plc1.level")
	standing := func() (client.AlarmInfo, bool) {
		a, found := s.activeAlarms()["plc1"]
		return a, found
	}
	cleared := func() bool { _, found := standing(); return !found }
	eventually(t, "an alarm from the start stays", cleared)
	await := s.listenToAlarms(e.url)

	device.off(t)
	require.Equal(t, "Critical", await("Driver plc1 (Modbus) is offline: "), "an Error, in a surface of three words")
	eventually(t, "the alarm is not listed", func() bool { return !cleared() }) // one of the start may have been told late
	first, _ := standing()
	require.Contains(t, first.Message, "last error: ")
	device.on(t)
	eventually(t, "the alarm is not cleared", cleared)

	device.off(t)
	eventually(t, "the alarm is not raised again", func() bool { return !cleared() })
	second, _ := standing()
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, first.Code, second.Code)
	e.stop()
	e = start(t, env, args...)
	s = e.admin()
	still, found := standing()
	require.True(t, found, "it stands over a restart")
	require.Equal(t, second.ID, still.ID)
	device.on(t)
	eventually(t, "the alarm from before the restart is not cleared", cleared)
}

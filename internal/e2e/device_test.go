//go:build unix

package e2e_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
)

// A Modbus server that is not ours behind the bridge: it is read, written, lost and found again.
func TestForeignDevice(t *testing.T) {
	t.Parallel()
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import pymodbus.server").Run() == nil { //nolint:gosec // of the test
			python = p
			break
		}
	}
	if python == "" {
		realtest.Skip(t, "no python3 has pymodbus with its server (python3-pymodbus, python3-serial-asyncio)")
	}
	port := realtest.FreePort(t)
	serve := func() *exec.Cmd {
		cmd := exec.Command(python, "../../tags/modbus/testdata/server.py", fmt.Sprint(port), "tcp") //nolint:gosec // of the test
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	device := serve()
	p := newPlant(t, options{driver: fmt.Sprintf(`{"Driver": {"Id": "plc", "Type": "Modbus", "IpAddress": "127.0.0.1", "Port": %d, "Settings": {"PollIntervalMs": 100,
		"Tags": [{"Name": "setpoint", "Address": "HR:10", "Type": "UInt16", "AccessMode": "ReadWrite"}]}}}`, port)})
	p.bind()
	reads := func(value int64, quality client.Quality) {
		t.Helper()
		eventually(t, fmt.Sprint("the tag does not become ", value, " ", quality), func() bool {
			tag, err := p.ReadTagWithResponse(t.Context(), "plc.setpoint")
			require.NoError(t, err)
			return tag.JSON200 != nil && tag.JSON200.Tag.CurrentValue.Int() == value && tag.JSON200.Tag.Quality == quality
		})
	}
	reads(70, client.Good)
	require.Equal(t, client.Written, p.write("4711").State)
	reads(4711, client.Good)
	require.NoError(t, device.Process.Kill())
	_ = device.Wait()
	reads(4711, client.Bad)
	p.alarm("driver of bridge " + bridgeID)
	serve()
	reads(70, client.Good)
}

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestRun(t *testing.T) {
	port := realtest.FreePort(t)
	broker := fmt.Sprintf("mqtt://127.0.0.1:%d", port)
	vehicle := filepath.Join(t.TempDir(), "vehicle")
	mosquitto := realtest.Need(t, "mosquitto", "/usr/sbin/mosquitto")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", vehicle, "../vda5050-vehicle").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, args := range [][]string{{mosquitto, "-p", fmt.Sprint(port)}, {vehicle, "-broker", broker, "-x", "5", "-y", "5"}} {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) // ends with the test
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
	}
	require.NoError(t, run(t.Context(), broker))
}

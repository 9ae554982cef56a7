package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// systemd accepts the unit, and the bridge the flags and the settings that it is installed with.
func TestUnit(t *testing.T) {
	t.Parallel()
	build(t)
	unit, err := os.ReadFile("../../deploy/otkit-bridge.service")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/otkit-bridge (.*)$`).FindStringSubmatch(string(unit))
	require.NotEmpty(t, line)
	args := strings.NewReplacer("/etc/otkit-bridge", "../../deploy/edge", "${STATE_DIRECTORY}", t.TempDir()).Replace(line[1])
	out, err := exec.CommandContext(t.Context(), filepath.Join(programs, "bridge"), append([]string{"config", "print"}, strings.Fields(args)...)...).CombinedOutput() //nolint:gosec // ours
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"profile: edge", "maxSizeMb: 512", "messageTtlHours: 48"} {
		require.Contains(t, string(out), want)
	}

	systemd := realtest.Need(t, "systemd-analyze")
	installed := filepath.Join(t.TempDir(), "otkit-bridge.service")
	text := strings.Replace(string(unit), "/usr/local/bin/otkit-bridge", filepath.Join(programs, "bridge"), 1)
	require.NoError(t, os.WriteFile(installed, []byte(text), 0o600))
	out, err = exec.CommandContext(t.Context(), systemd, "verify", installed).CombinedOutput() //nolint:gosec // of the test
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

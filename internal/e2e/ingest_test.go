//go:build unix

package e2e_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// The script of examples/bridge-ingest delivers to the engine, also while that is away.
func TestIngestScript(t *testing.T) {
	t.Parallel()
	realtest.Need(t, "curl")
	if _, err := os.Stat("/proc/loadavg"); err != nil {
		realtest.Skip(t, "there is no /proc/loadavg")
	}
	settings, err := os.ReadFile("../../examples/bridge-ingest/driver_settings.json")
	require.NoError(t, err)
	const token = "a-token-of-senders"
	p := newPlant(t, options{driver: string(settings), bridgeEnv: []string{"Ingest__Token=" + token}})
	p.bind()
	send := func(token, count string) string {
		cmd := exec.CommandContext(t.Context(), "../../examples/bridge-ingest/ingest.sh", p.bridge.url, "machine", count)
		cmd.Env = append(os.Environ(), "INGEST_TOKEN="+token)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Empty(t, send(token, "2"))
	require.Contains(t, send("another", "1"), "401", "what is refused is said, and not repeated")
	p.engine.kill()
	require.Empty(t, send(token, "2"))
	p.engine.start()
	p.login()
	eventually(t, "the engine does not get all", func() bool { return len(p.points("machine.uptime")) >= 4 })
	list := p.points("machine.uptime")
	require.Len(t, list, 4)
	require.WithinDuration(t, list[0].Timestamp.Add(time.Second), list[1].Timestamp, time.Second)
}

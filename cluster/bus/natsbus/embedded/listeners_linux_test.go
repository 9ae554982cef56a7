package embedded_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
)

func TestClientsHaveNoPort(t *testing.T) {
	before := listeners(t)
	b := start(t, embedded.Options{})
	require.Equal(t, before+1, listeners(t), "there is a port besides that of the routes")
	conn, err := nats.Connect("nats://"+b.Addr().String(), nats.Timeout(5*time.Second))
	if err == nil {
		conn.Close()
	}
	require.ErrorContains(t, err, "attempted to connect to route port")
}

// listeners returns how many TCP ports this process listens on.
func listeners(t testing.TB) (n int) {
	t.Helper()
	own := map[string]bool{}
	files, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil {
			own[target] = true
		}
	}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			const state, inode, listening = 3, 9, "0A"
			if f := strings.Fields(line); len(f) > inode && f[state] == listening && own["socket:["+f[inode]+"]"] {
				n++
			}
		}
	}
	return n
}

//go:build unix

package main_test

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
)

// What an operator sees stays true while the engine stands still, cannot be reached or is killed, and afterwards, without a reload.
func TestTheConsoleInAnOutage(t *testing.T) {
	t.Parallel()
	chromium := chromiumOf(t)
	data := t.TempDir()
	e := start(t, known, "-demo", "-data", data)
	e.admin().good("sim.running")
	script := filepath.Join(repository, "transport", "console", "web", "test", "outage.cjs")
	cmd := npmtest.Command(t, npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1"), script, chromium, e.url, "admin", password, strconv.Itoa(e.cmd.Process.Pid))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	said := &output{}
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	addr := e.addr
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch {
		case strings.HasSuffix(lines.Text(), "@kill"):
			e.kill()
		case strings.HasSuffix(lines.Text(), "@start"):
			e = start(t, known, "-demo", "-data", data, "-listen", addr)
		default:
			_, _ = fmt.Fprintln(said, lines.Text())
			continue
		}
		_, err := fmt.Fprintln(in, e.cmd.Process.Pid)
		require.NoError(t, err)
	}
	require.NoError(t, cmd.Wait(), said.String())
}

// Consoles sleep for longer than their tokens live; what they show when they wake is not taken for current.
func TestConsolesThatSleep(t *testing.T) {
	t.Parallel()
	chromiumOf(t)
	data, env := t.TempDir(), with(known, []string{"Auth__AccessTokenMinutes=1"})
	e := start(t, env, "-demo", "-data", data)
	e.admin().good("sim.running")
	run(t, env, password, "users", "add", "-data", data, "-role", "Operator", "olga").ok(t)
	e.drive("asleep.cjs", strconv.Itoa(e.cmd.Process.Pid), "olga")
}

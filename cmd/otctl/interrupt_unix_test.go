//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWatchSurvivesTheEngineAndEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	u := newUser(t, e.addr)
	u.login()
	cmd := u.command("tags", "watch", "sim.temperature")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	notes, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines, told := bufio.NewScanner(out), bufio.NewScanner(notes)
	require.True(t, lines.Scan())
	e.stop()
	require.True(t, told.Scan())
	require.Contains(t, told.Text(), "connection lost at")
	e.run()
	require.True(t, told.Scan())
	require.Contains(t, told.Text(), "connected again after")
	require.True(t, lines.Scan())
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(notes)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Empty(t, string(rest))
}

func TestAClosedPipeIsNoError(t *testing.T) {
	t.Parallel()
	u := newUser(t, "127.0.0.1:1")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := u.command("help")
	var notes bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &notes
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	_ = cmd.Wait()
	require.Empty(t, notes.String())
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.ExitStatus() == 0 || status.Signaled() && status.Signal() == syscall.SIGPIPE, cmd.ProcessState.String())
}

func TestAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	cmd := newUser(t, "127.0.0.1:1").command("help")
	var notes strings.Builder
	cmd.Stdout, cmd.Stderr = full, &notes
	_ = cmd.Run()
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, notes.String(), "no space left")
}

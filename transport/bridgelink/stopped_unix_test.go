//go:build unix

package bridgelink

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
)

// peerVar makes the test program a peer: the URL of an engine for a bridge, or "engine".
const peerVar = "OTKIT_TEST_PEER"

// TestPeerProcess is no test: it is the other process of the ones below.
func TestPeerProcess(t *testing.T) {
	switch role := os.Getenv(peerVar); role {
	case "":
		t.Skip("a process of other tests")
	case "engine":
		hub, err := linked.New(openBindings{}, linked.Options{})
		require.NoError(t, err)
		fmt.Println("ready http://" + serve(t, hub.Serve))
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
		require.NoError(t, hub.Close(context.Background()))
	default:
		fmt.Println("ready", keepOpen(openTo(t, role)))
	}
}

// openTo opens a link.
func openTo(t *testing.T, url string) link.BridgeConn {
	c := dial(t, DialOptions{URL: url})
	require.NoError(t, c.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Key: "k", Epoch: "e"}}))
	f, err := c.Recv()
	require.NoError(t, err)
	require.NotNil(t, f.Welcome)
	return c
}

// keepOpen answers pings until the link ends and returns why.
func keepOpen(c link.BridgeConn) error {
	for {
		f, err := c.Recv()
		if err != nil {
			return err
		}
		if f.Ping != nil {
			if err := c.Send(link.FromBridge{Pong: &link.Pong{Time: f.Ping.Time}}); err != nil {
				return err
			}
		}
	}
}

// start starts a peer and returns what it prints.
func startPeer(t *testing.T, role string) (*exec.Cmd, *bufio.Scanner) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeerProcess$") //nolint:gosec // this program
	cmd.Env = append(os.Environ(), peerVar+"="+role)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	return cmd, bufio.NewScanner(out)
}

// line returns the next line of a peer that begins with ready.
func line(t *testing.T, s *bufio.Scanner) string {
	for s.Scan() {
		if text, ok := strings.CutPrefix(s.Text(), "ready "); ok {
			return text
		}
	}
	require.Fail(t, "the peer has ended", "%v", s.Err())
	return ""
}

// noticed is when a peer that is stopped must have been noticed, with time for a machine that is busy.
const noticed = link.SilenceLimit + 15*time.Second

// A bridge that is stopped with its connection open is noticed, and finds its link ended when it continues.
func TestAStoppedBridgeIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	hub, err := linked.New(openBindings{}, linked.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, hub.Close(context.Background())) }()
	ended := make(chan error, 1)
	addr := serve(t, func(ctx context.Context, c link.EngineConn) error {
		err := hub.Serve(ctx, c)
		ended <- err
		return err
	})
	cmd, out := startPeer(t, "http://"+addr)
	ctx, cancel := context.WithTimeout(t.Context(), noticed)
	defer cancel()
	require.NoError(t, hub.Driver("press-1").Connect(ctx))
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	select {
	case err := <-ended:
		require.ErrorIs(t, err, link.ErrSilent)
	case <-time.After(noticed):
		require.Fail(t, "the stopped bridge was not noticed")
	}
	require.False(t, hub.Link("press-1").Open)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	require.NotEqual(t, "<nil>", line(t, out))
}

// An engine that is stopped is noticed by the bridge.
func TestAStoppedEngineIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	cmd, out := startPeer(t, "engine")
	c := openTo(t, line(t, out))
	ended := make(chan error, 1)
	go func() { ended <- keepOpen(c) }()
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	select {
	case err := <-ended:
		require.Error(t, err)
		require.NotErrorIs(t, err, link.ErrRefused)
	case <-time.After(noticed):
		require.Fail(t, "the stopped engine was not noticed")
	}
}

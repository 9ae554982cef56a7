//go:build unix

package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
	"github.com/otkit/otkit/internal/realtest"
)

var names = []string{"a", "b", "c"}

func init() { engine = runEngine }

// runEngine is an engine in a process of its own: it publishes its name every 10 ms, and prints those that it hears.
func runEngine() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	b, err := embedded.Start(ctx, embedded.Options{Listen: os.Getenv(listenEnv), Routes: strings.Split(os.Getenv(routesEnv), ","), Password: "s3cret"})
	if err != nil {
		return err
	}
	own := os.Getenv(nameEnv)
	for _, name := range names {
		if _, err := b.Subscribe("values."+name, func(data []byte) { fmt.Println(string(data)) }); err != nil {
			return err
		}
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-tick.C:
			if err := b.Publish("values."+own, []byte(own)); err != nil {
				return err
			}
		case <-ctx.Done():
			tick.Stop()
			ended, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return b.Close(ended)
		}
	}
}

// engines are processes, and when one heard another last.
type engines struct {
	t       *testing.T
	address map[string]string

	mu    sync.Mutex
	heard map[string]time.Time     // by who and whom
	gap   map[string]time.Duration // the longest between two times
}

func (e *engines) start(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	var others []string
	for _, other := range names {
		if other != name {
			others = append(others, e.address[other])
		}
	}
	cmd.Env = append(os.Environ(), nameEnv+"="+name, listenEnv+"="+e.address[name], routesEnv+"="+strings.Join(others, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(e.t, err)
	require.NoError(e.t, cmd.Start())
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			e.hear(name + " " + lines.Text())
		}
	}()
	return cmd
}

func (e *engines) hear(pair string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if last, ok := e.heard[pair]; ok {
		e.gap[pair] = max(e.gap[pair], now.Sub(last))
	}
	e.heard[pair] = now
}

// all waits until every engine has heard every other one since now, and returns how long that took.
func (e *engines) all() time.Duration {
	e.t.Helper()
	since := time.Now()
	require.Eventually(e.t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, one := range names {
			for _, other := range names {
				if one != other && !e.heard[one+" "+other].After(since) {
					return false
				}
			}
		}
		return true
	}, patience, time.Millisecond, "an engine does not hear another")
	return time.Since(since)
}

// Three engines are killed and stopped in turn: the other two hear each other on, and the third when it is back. OTKIT_CAMPAIGN=1 does it 50 times.
func TestEnginesThatAreKilledAndStopped(t *testing.T) {
	e := &engines{t: t, address: map[string]string{}, heard: map[string]time.Time{}, gap: map[string]time.Duration{}}
	running := map[string]*exec.Cmd{}
	for _, name := range names {
		e.address[name] = net.JoinHostPort("127.0.0.1", strconv.Itoa(realtest.FreePort(t)))
	}
	for _, name := range names {
		running[name] = e.start(name)
	}
	t.Cleanup(func() {
		for _, cmd := range running {
			_ = cmd.Process.Signal(syscall.SIGCONT)
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	})
	t.Logf("all three hear each other after %s", e.all().Round(time.Millisecond))
	rounds := 2
	if os.Getenv("OTKIT_CAMPAIGN") != "" {
		rounds = 50
	}
	for round := range rounds {
		name := names[round%len(names)]
		e.mu.Lock()
		clear(e.gap)
		e.mu.Unlock()
		cmd := running[name]
		kill := round%2 == 0
		if kill {
			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
		}
		time.Sleep(4 * time.Second) // the others have noticed
		e.mu.Lock()
		for pair, gap := range e.gap {
			if !strings.Contains(pair, name) {
				require.Less(t, gap, 2*time.Second, "%s is hindered by %s", pair, name)
			}
		}
		e.mu.Unlock()
		if kill {
			running[name] = e.start(name)
		} else {
			require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
		}
		t.Logf("%s is back after %s (killed: %t)", name, e.all().Round(time.Millisecond), kill)
	}
}

package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// output keeps what a process writes, to be read while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// bridge is a process of the command.
type bridge struct {
	t        testing.TB
	url      string
	out, log *output
	cmd      *exec.Cmd
	ended    chan struct{} // closed when the process has ended
}

// patience ends a wait that hangs. How long something takes says nothing on a loaded machine.
const patience = 3 * time.Minute

// start runs a bridge on a free port and waits until it listens. It is not announced.
func start(t testing.TB, env []string, args ...string) *bridge {
	t.Helper()
	b := &bridge{t: t, out: &output{}, log: &output{}, ended: make(chan struct{})}
	b.cmd = exec.Command(binary(t), append(args, "-listen", "127.0.0.1:0")...)
	b.cmd.Env, b.cmd.Stdout, b.cmd.Stderr = environment(env), b.out, b.log
	require.NoError(t, b.cmd.Start())
	go func() {
		defer close(b.ended)
		_ = b.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(b.end)
	address := regexp.MustCompile(`documentation: (http://\S+)/docs\n`)
	eventually(t, "the bridge does not start", func() bool {
		if found := address.FindStringSubmatch(b.out.String()); found != nil {
			b.url = found[1]
			return true
		}
		select {
		case <-b.ended:
			t.Fatalf("the bridge ended: %s\n%s", b.cmd.ProcessState, b.log)
		default:
		}
		return false
	})
	return b
}

// environment is what processes get beside the variables of a test: none of the machine's settings.
func environment(more []string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "Discovery__Mdns=false"}, more...)
}

// end is for bridges that a test leaves running: they must end well.
func (b *bridge) end() {
	select {
	case <-b.ended:
	default:
		if !b.t.Failed() {
			b.stop()
		}
		_ = b.cmd.Process.Kill() // it may just have ended
		<-b.ended
	}
	require.NotContains(b.t, b.log.String(), "DATA RACE")
	if b.t.Failed() {
		b.t.Logf("log of %s:\n%s%s", b.url, b.out, b.log)
	}
}

// exit waits for the end and returns the exit code.
func (b *bridge) exit() int {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(patience):
		b.t.Fatalf("the bridge does not end\n%s", b.log)
	}
	return b.cmd.ProcessState.ExitCode()
}

// stop drains the bridge, which must return exit code 0.
func (b *bridge) stop() {
	b.t.Helper()
	require.NoError(b.t, b.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(b.t, 0, b.exit(), "%s", b.log)
}

// kill ends it as a power cut would.
func (b *bridge) kill() {
	b.t.Helper()
	require.NoError(b.t, b.cmd.Process.Kill())
	<-b.ended
}

// call makes a request and requires a status. The answer's body is an object or a list, or empty.
func (b *bridge) call(status int, method, path, token string, body any) map[string]any {
	b.t.Helper()
	var text io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		require.NoError(b.t, err)
		text = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, text)
	require.NoError(b.t, err)
	if text != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b.t, err)
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	require.NoError(b.t, err)
	require.Equal(b.t, status, resp.StatusCode, "%s %s: %s", method, path, answer)
	if len(answer) == 0 || answer[0] != '{' {
		return nil
	}
	var object map[string]any
	require.NoError(b.t, json.Unmarshal(answer, &object))
	return object
}

const password = "korrekt-Pferd-7-Batterie"

// admin makes the first account and returns its token.
func (b *bridge) admin() string {
	b.t.Helper()
	b.call(201, "POST", "/api/bridge/auth/setup", "", map[string]string{"username": "ann", "password": password})
	return b.login()
}

func (b *bridge) login() string {
	b.t.Helper()
	token, ok := b.call(200, "POST", "/api/bridge/auth/login", "", map[string]string{"username": "ann", "password": password})["accessToken"].(string)
	require.True(b.t, ok)
	return token
}

// result is what became of a command that ends by itself.
type result struct {
	code     int
	out, err string
}

// run runs a command to its end.
func run(t testing.TB, env []string, args ...string) result {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(env), &out, &errOut, t.TempDir()
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code tells
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// refused asserts that a command failed with one clear line.
func (r result) refused(t testing.TB, words ...string) {
	t.Helper()
	require.Equal(t, 1, r.code, "%s%s", r.out, r.err)
	require.Equal(t, 1, strings.Count(r.err, "\n"), "one line is wanted: %s", r.err)
	require.True(t, strings.HasPrefix(r.err, "bridge: "), r.err)
	for _, word := range words {
		require.Contains(t, r.err, word)
	}
}

// eventually polls until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// file writes a file for a test and returns its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSIGHUPReloadsTheLevelOfTheLog(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "appsettings.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"Log": {"Level": "info"}}`), 0o600))
	b := start(t, nil, "-config", config, "-data", t.TempDir())
	hangup := func(level, line string) {
		t.Helper()
		require.NoError(t, os.WriteFile(config, []byte(`{"Log": {"Level": "`+level+`"}}`), 0o600))
		require.NoError(t, b.cmd.Process.Signal(syscall.SIGHUP))
		eventually(t, "nothing is reloaded", func() bool { return strings.Contains(b.log.String(), line) })
	}
	hangup("debug", "logLevel=debug")
	hangup("loud", "failed to reload settings")
	b.stop()
}

package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
)

var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "otctl")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	pgtest.Stop()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

var built = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", programs+string(filepath.Separator), ".", "../engine", "../bridge").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
})

func program(t testing.TB, name string) string {
	t.Helper()
	require.NoError(t, built())
	return filepath.Join(programs, name)
}

const (
	password = "correct horse battery"
	patience = 3 * time.Minute
)

// engine is a process of the reference engine.
type engine struct {
	t    testing.TB
	addr string
	data string
	args []string // beside those that all have
	env  []string // likewise
	cmd  *exec.Cmd
}

// startEngine starts an engine with its demo plant.
func startEngine(t testing.TB) *engine {
	t.Helper()
	return startWith(t, nil, "-demo")
}

func startWith(t testing.TB, env []string, args ...string) *engine {
	t.Helper()
	e := &engine{t: t, addr: fmt.Sprintf("127.0.0.1:%d", realtest.FreePort(t)), data: t.TempDir(), env: env, args: args}
	e.run()
	return e
}

var listening = regexp.MustCompile(`documentation: `)

// run starts the engine, again after stop, and waits until it listens.
func (e *engine) run() {
	e.t.Helper()
	e.cmd = exec.Command(program(e.t, "engine"), append([]string{"-data", e.data, "-listen", e.addr}, e.args...)...)
	e.cmd.Dir = e.t.TempDir()
	e.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "Auth__AdminPassword=" + password,
		"Server__RateLimit__PerAccount=-1", "Discovery__Mdns=false"}, e.env...)
	out, err := e.cmd.StdoutPipe()
	require.NoError(e.t, err)
	require.NoError(e.t, e.cmd.Start())
	e.t.Cleanup(e.stop)
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		lines := bufio.NewScanner(out)
		for lines.Scan() && !listening.MatchString(lines.Text()) {
		}
		go func() {
			for lines.Scan() {
			}
		}()
	}()
	select {
	case <-ready:
	case <-time.After(patience):
		e.t.Fatal("the engine does not start")
	}
}

func (e *engine) stop() {
	if e.cmd.ProcessState == nil {
		_ = e.cmd.Process.Kill() // it may have ended
		_ = e.cmd.Wait()
	}
}

// user is somebody with a folder of sessions.
type user struct {
	t   testing.TB
	env []string
	dir string
}

func newUser(t testing.TB, server string) *user {
	t.Helper()
	dir := t.TempDir()
	return &user{t, []string{"OTCTL_CONFIG_DIR=" + dir, "OTCTL_SERVER=" + server, "PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + dir, "TZ=UTC"}, dir}
}

func (u *user) command(args ...string) *exec.Cmd {
	u.t.Helper()
	cmd := exec.Command(program(u.t, "otctl"), args...)
	cmd.Env, cmd.Dir = u.env, u.dir
	return cmd
}

type result struct {
	code     int
	out, err string
}

func (u *user) run(args ...string) result { return u.runWith("", args...) }

func (u *user) runWith(input string, args ...string) result {
	u.t.Helper()
	cmd := u.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errOut
	require.NoError(u.t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code tells
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// ok runs a command that succeeds.
func (u *user) ok(args ...string) string {
	u.t.Helper()
	r := u.run(args...)
	require.Equal(u.t, 0, r.code, "otctl %q: %s%s", args, r.out, r.err)
	require.Empty(u.t, r.err, "otctl %q", args)
	return r.out
}

// fails runs a command that ends with an exit code and one line that has all words.
func (u *user) fails(code int, words string, args ...string) {
	u.t.Helper()
	r := u.run(args...)
	require.Equal(u.t, code, r.code, "otctl %q: %s%s", args, r.out, r.err)
	require.Equal(u.t, 1, strings.Count(r.err, "\n"), r.err)
	require.Contains(u.t, r.err, words, "otctl %q", args)
}

func (u *user) login() {
	u.t.Helper()
	r := u.runWith(password+"\n", "login", "-user", "admin", "-password-stdin")
	require.Equal(u.t, 0, r.code, r.err)
	require.Contains(u.t, r.out, "as admin (Admin)")
	require.NotContains(u.t, r.out+r.err, password)
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

package main_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// engine is a process of the command that serves.
type engine struct {
	t        testing.TB
	url      string // http://127.0.0.1:port
	addr     string
	out, log *output
	cmd      *exec.Cmd
	ended    chan struct{} // closed when the process has ended
}

// environment is what processes get beside the variables of a test: none of the machine's settings.
func environment(more []string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
		"Server__RateLimit__PerAccount=-1"} // tests ask as fast as they can
	return append(env, more...)
}

// withoutPumps is a demo without the pumps, whose models take seconds to train. A variable of the same name in a test puts them back.
const withoutPumps = "Predictive__ExcludeDrivers=pump1,pump2,pump3,pump4,pump5,pump6"

// launch starts the engine on a free port and does not wait for it.
func launch(t testing.TB, path string, env []string, args ...string) *engine {
	t.Helper()
	e := prepare(t, path, env, args...)
	e.run()
	return e
}

// prepare makes an engine on a free port that is yet to run.
func prepare(t testing.TB, path string, env []string, args ...string) *engine {
	t.Helper()
	e := &engine{t: t, out: &output{}, log: &output{}, ended: make(chan struct{})}
	if !hasListen(env, args) {
		args = append(args, "-listen", "127.0.0.1:0")
	}
	if slices.Contains(args, "-demo") {
		env = append([]string{withoutPumps}, env...)
	}
	e.cmd = exec.Command(path, args...)
	e.cmd.Env, e.cmd.Stdout, e.cmd.Stderr, e.cmd.Dir = environment(env), e.out, e.log, repository
	if dir := os.Getenv("OTKIT_TEST_LOGS"); dir != "" { // for a look at a long test
		whole, err := os.CreateTemp(dir, strings.ReplaceAll(t.Name(), "/", "-")+"-*.log")
		require.NoError(t, err)
		t.Cleanup(func() { _ = whole.Close() })
		e.cmd.Stderr = io.MultiWriter(e.log, whole)
	}
	return e
}

func (e *engine) run() {
	e.t.Helper()
	require.NoError(e.t, e.cmd.Start())
	go func() {
		defer close(e.ended)
		_ = e.cmd.Wait() // how it ended is in ProcessState
	}()
	e.t.Cleanup(e.end)
}

// repository is where processes start, so that a test can name the files of examples/ as a reader does.
const repository = "../.."

func hasListen(env, args []string) bool {
	for _, s := range append(env[:len(env):len(env)], args...) {
		if strings.EqualFold(strings.Split(s, "=")[0], "Server__Listen") || s == "-listen" {
			return true
		}
	}
	return false
}

var addressLine = regexp.MustCompile(`documentation: (https?://(\S+))/docs\n`)

// start starts the engine and waits until it listens.
func start(t testing.TB, env []string, args ...string) *engine {
	t.Helper()
	e := launch(t, binary(t), env, args...)
	e.ready()
	return e
}

// starts reports whether the engine listens; it has ended otherwise.
func (e *engine) starts() (listens bool) {
	e.t.Helper()
	eventually(e.t, "the engine neither starts nor ends", func() bool {
		select {
		case <-e.ended:
			return true
		default:
			listens = addressLine.MatchString(e.out.String())
			return listens
		}
	})
	if listens {
		e.ready()
	}
	return listens
}

func (e *engine) ready() {
	e.t.Helper()
	eventually(e.t, "the engine does not start", func() bool {
		if found := addressLine.FindStringSubmatch(e.out.String()); found != nil {
			e.url, e.addr = found[1], found[2]
			return true
		}
		select {
		case <-e.ended:
			e.t.Fatalf("the engine ended: %s\n%s", e.cmd.ProcessState, e.log)
		default:
		}
		return false
	})
}

// end is for engines that a test leaves running: they must end well.
func (e *engine) end() {
	select {
	case <-e.ended:
	default:
		if !e.t.Failed() {
			e.stop()
		}
		_ = e.cmd.Process.Kill() // it may just have ended
		<-e.ended
	}
	if strings.Contains(e.log.String(), "DATA RACE") {
		e.t.Errorf("the engine has a data race:\n%s", e.log)
	}
	if e.t.Failed() {
		log := e.log.String()
		e.t.Logf("log of %s:\n%s%s", e.url, e.out, log[max(0, len(log)-6000):])
	}
}

func (e *engine) signal(s os.Signal) {
	e.t.Helper()
	require.NoError(e.t, e.cmd.Process.Signal(s))
}

// patience ends a wait that hangs. How long something takes says nothing on a loaded machine.
const patience = 3 * time.Minute

// exit waits for the end and gives the exit code.
func (e *engine) exit() int {
	e.t.Helper()
	select {
	case <-e.ended:
	case <-time.After(patience):
		e.t.Fatalf("the engine does not end\n%s", e.log)
	}
	return e.cmd.ProcessState.ExitCode()
}

// stop drains the engine, which must give exit code 0.
func (e *engine) stop() {
	e.t.Helper()
	e.signal(syscall.SIGTERM)
	require.Equal(e.t, 0, e.exit(), "%s", e.log)
}

// kill ends it as a power cut would.
func (e *engine) kill() {
	e.t.Helper()
	require.NoError(e.t, e.cmd.Process.Kill())
	<-e.ended
}

var passwordLine = regexp.MustCompile(`password (\S+) \(shown once`)

// firstPassword is the one that was printed; empty when none was.
func (e *engine) firstPassword() string {
	if found := passwordLine.FindStringSubmatch(e.out.String()); found != nil {
		return found[1]
	}
	return ""
}

// result is what became of a command that ends by itself.
type result struct {
	code     int
	out, err string
}

// run runs a command to its end.
func run(t testing.TB, env []string, input string, args ...string) result {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = environment(env), strings.NewReader(input), &out, &errOut, repository
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the exit code tells
	return result{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

var infoLines = regexp.MustCompile(`(?m)^time=\S+ level=INFO .*\n`)

// refused asserts that a command failed with one clear line, beside what it told of its start.
func (r result) refused(t testing.TB, words ...string) {
	t.Helper()
	r.err = infoLines.ReplaceAllString(r.err, "")
	require.Equal(t, 1, r.code, "%s%s", r.out, r.err)
	require.Equal(t, 1, strings.Count(r.err, "\n"), "one line is wanted: %s", r.err)
	require.True(t, strings.HasPrefix(r.err, "engine: "), r.err)
	for _, word := range words {
		require.Contains(t, r.err, word)
	}
}

func (r result) ok(t testing.TB) result {
	t.Helper()
	require.Equal(t, 0, r.code, "%s%s", r.out, r.err)
	return r
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

// file writes a file for a test and gives its path.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func body(t testing.TB, r io.ReadCloser) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return string(text)
}

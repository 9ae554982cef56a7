package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs is the folder that the programs under test are built into.
var programs string

func TestMain(m *testing.M) {
	if port := os.Getenv(counterPort); port != "" {
		fmt.Fprintln(os.Stderr, serveCounter(port))
		os.Exit(1)
	}
	flag.Parse()
	// The tests wait for most of their time.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built names the programs that TestMain's folder has, for the processes of isolated tests too.
const built = "OTKIT_E2E_PROGRAMS"

var buildOnce = sync.OnceValue(func() error {
	if dir := os.Getenv(built); dir != "" {
		programs = dir
		return nil
	}
	args := []string{"build", "-o", programs + string(filepath.Separator)}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "../../cmd/engine", "../../cmd/bridge")...).CombinedOutput(); err != nil { //nolint:gosec // ours
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.Setenv(built, programs)
})

// build builds the programs, with the race detector when the tests run with it.
func build(t testing.TB) {
	t.Helper()
	require.NoError(t, buildOnce())
}

// trusting calls programs, whose certificates the tests have made. With the race detector on a busy machine some of them need many seconds.
var trusting = &http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // of tests

// output keeps what a process writes.
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

// machine returns the command line that runs a program somewhere.
type machine func(name string, args ...string) []string

// here is the machine of the test.
func here(name string, args ...string) []string { return append([]string{name}, args...) }

// process is a program that serves, and that starts again after it has ended.
type process struct {
	t     testing.TB
	name  string
	url   string
	line  []string
	env   []string
	log   *output
	cmd   *exec.Cmd
	ended chan struct{}
}

// start starts a program on a machine, where it is reached at address, and waits until it answers.
func start(t testing.TB, on machine, name, address string, env []string, args ...string) *process {
	t.Helper()
	build(t)
	scheme := "http://"
	if slices.ContainsFunc(env, func(s string) bool { return strings.HasPrefix(s, "Server__Tls__CertFile=") }) {
		scheme = "https://"
	}
	p := &process{t: t, name: name, url: scheme + address, log: &output{},
		line: on(filepath.Join(programs, name), append(args, "-listen", listen(address))...),
		env:  append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)}
	p.start()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		text := p.log.String()
		if strings.Contains(text, "DATA RACE") {
			t.Errorf("%s has a data race:\n%s", name, text)
		}
		if t.Failed() {
			t.Logf("log of %s: %s", name, text[max(0, len(text)-8000):])
		}
	})
	return p
}

// listen returns the address to listen at: on a machine of its own a program listens everywhere, since its address may change.
func listen(address string) string {
	if host, port, _ := strings.Cut(address, ":"); host != "127.0.0.1" {
		return ":" + port
	}
	return address
}

// start starts the program again.
func (p *process) start() {
	p.t.Helper()
	p.launch()
	eventually(p.t, p.name+" does not start", func() bool {
		select {
		case <-p.ended:
			p.t.Fatalf("%s ended: %s\n%s", p.name, p.cmd.ProcessState, p.log)
		default:
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/health/live", nil)
		require.NoError(p.t, err)
		answer, err := trusting.Do(r)
		return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
	})
}

// launch starts the program and does not wait for it.
func (p *process) launch() {
	p.t.Helper()
	p.cmd = exec.Command(p.line[0], p.line[1:]...) //nolint:gosec // ours
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.env, p.log, p.log
	require.NoError(p.t, p.cmd.Start())
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
}

// kill ends the program as a power cut would.
func (p *process) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	<-p.ended
}

// stop ends the program as an operator does. It must end well.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not end", p.name)
	}
	require.True(p.t, p.cmd.ProcessState.Success(), "%s: %s\n%s", p.name, p.cmd.ProcessState, p.log)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

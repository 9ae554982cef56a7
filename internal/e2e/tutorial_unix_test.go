//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/npmtest"
	"github.com/otkit/otkit/internal/realtest"
)

// ownTerminal is the first line of a block whose program goes on while the reader does.
const ownTerminal = "# in a terminal of its own\n"

// The tutorial is carried out as the page has it, with a new home and other ports: each block of commands is typed, and each block of
// text must appear in a terminal. While the alarm is active, a browser sees what the page says of the consoles.
//
// With OTKIT_PICTURES=$PWD/docs/images the pictures of the page are made anew.
func TestTheTutorialWorksWordForWord(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	r := newReader(t)
	blocks := regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 15)
	for i, block := range blocks {
		text := r.ports.Replace(block[2])
		switch {
		case i == 0: // the picture of what is built
		case block[1] == "text":
			r.sees(text)
		case strings.HasPrefix(text, ownTerminal):
			r.opens(text)
		case strings.HasPrefix(text, "rm "):
			for _, stop := range r.stops {
				stop()
			}
			r.types(text)
		default:
			r.types(text)
		}
		if strings.Contains(text, "otctl alarms list") {
			t.Run("in a browser", func(t *testing.T) { r.looks(t) })
		}
	}
	require.NoDirExists(t, filepath.Join(r.dir, "tutorial"), "the last step removes everything")
}

// reader does what the page says.
type reader struct {
	t         testing.TB
	dir       string // stands for the clone, which the test does not write to
	env       []string
	ports     *strings.Replacer
	terminals []*output
	stops     []func()
}

func newReader(t testing.TB) *reader {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	r := &reader{t: t, dir: t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(r.dir, name)))
	}
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if e.IsDir() && e.Name()[0] != '.' && e.Name() != "bin" && e.Name() != "tutorial" {
			require.NoError(t, os.Symlink(filepath.Join(root, e.Name()), filepath.Join(r.dir, e.Name())))
		}
	}
	var change []string
	for _, port := range []string{"5001", "5100", "5020", "5030"} {
		change = append(change, port, fmt.Sprint(realtest.FreePort(t)))
	}
	r.ports = strings.NewReplacer(change...)
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS").Output()
	require.NoError(t, err)
	known := strings.SplitN(string(caches), "\n", 4)
	r.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(), "GOCACHE=" + known[0], "GOMODCACHE=" + known[1],
		"GOFLAGS=" + known[2], "Discovery__Mdns=false", "OTCTL_SERVER=" + r.ports.Replace("http://localhost:5001")}
	return r
}

// looks sees in a browser what the page says of the consoles, and takes its pictures.
func (r *reader) looks(t *testing.T) {
	chromium := realtest.Need(t, "chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
	packages := npmtest.Need(t, "playwright-core@1.65.1", "axe-core@4.14.1")
	folder := os.Getenv("OTKIT_PICTURES")
	if folder == "" {
		folder = t.TempDir()
	}
	script, err := filepath.Abs("../../transport/console/web/test/tutorial.cjs")
	require.NoError(t, err)
	out, err := npmtest.Command(t, packages, script, chromium, r.ports.Replace("http://localhost:5001"), "admin", "correct horse battery",
		r.ports.Replace("http://localhost:5100"), "zebra tractor lamp 83", folder).CombinedOutput()
	require.NoError(t, err, string(out))
}

func (r *reader) shell(text string) (*exec.Cmd, *output) {
	out := &output{}
	cmd := exec.CommandContext(r.t.Context(), "sh", "-eu")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = r.dir, r.env, strings.NewReader(text), out, out
	r.terminals = append(r.terminals, out)
	return cmd, out
}

// opens starts a program that goes on, on the port that stands for its default.
func (r *reader) opens(text string) {
	r.t.Helper()
	for program, port := range map[string]string{"bin/engine": "5001", "bin/bridge": "5100"} {
		text = strings.ReplaceAll(text, program, "Server__Listen="+r.ports.Replace("127.0.0.1:"+port)+" "+program)
	}
	// The last line takes the place of the shell, so that a signal reaches the program.
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	if words := strings.Fields(last); strings.Contains(words[0], "=") {
		last = "export " + words[0] + "; exec " + strings.TrimPrefix(last, words[0])
	} else {
		last = "exec " + last
	}
	cmd, out := r.shell(strings.Join(append(lines[:len(lines)-1], last), "\n"))
	require.NoError(r.t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is in ProcessState
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(patience):
			r.t.Error("Ctrl-C does not end " + last)
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	r.stops = append(r.stops, stop)
	r.t.Cleanup(func() {
		stop()
		if r.t.Failed() {
			r.t.Logf("terminal of %s:\n%s", lines[len(lines)-1], out)
		}
	})
}

// types carries a block out, line by line as a shell does.
func (r *reader) types(text string) {
	r.t.Helper()
	if strings.Contains(text, "otctl login") {
		r.sees("server is listening\n") // the reader is slower than the engine
	}
	cmd, out := r.shell(text)
	require.NoError(r.t, cmd.Run(), "%s\n%s", text, out)
}

// sees waits until each line is in a terminal, whatever its blanks are. "..." is what differs from run to run.
func (r *reader) sees(text string) {
	r.t.Helper()
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = strings.ReplaceAll(regexp.QuoteMeta(word), `\.\.\.`, `.*`)
		}
		pattern := regexp.MustCompile(strings.Join(words, `[ \t]+`))
		eventually(r.t, "no terminal shows "+line, func() bool {
			for _, terminal := range r.terminals {
				if pattern.MatchString(strings.ReplaceAll(terminal.String(), "127.0.0.1", "localhost")) || pattern.MatchString(terminal.String()) {
					return true
				}
			}
			return false
		})
	}
}

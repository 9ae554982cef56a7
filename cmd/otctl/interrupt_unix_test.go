//go:build unix

package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
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
	require.Equal(t, 0, cmd.ProcessState.ExitCode())
}

// Who pipes the output elsewhere still learns by the exit code what became of a write.
func TestAClosedPipeHidesNoOutcome(t *testing.T) {
	t.Parallel()
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `{"success":true,"message":"","writeId":"w1"}`)
		case strings.Contains(r.URL.Path, "/writes/"):
			fmt.Fprint(w, `{"writeId":"w1","tagName":"a","value":{"int64Value":2},"state":"Unconfirmed","error":"why","requestedBy":"","queuedAt":"2026-01-01T00:00:00Z"}`)
		default:
			fmt.Fprint(w, aTag)
		}
	})
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	cmd := u.command("tags", "set", "sim.a b%", "2")
	cmd.Stdout = w
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	_ = cmd.Wait()
	require.Equal(t, 6, cmd.ProcessState.ExitCode(), cmd.ProcessState.String())
}

func TestAnInterruptedImportIsCanceled(t *testing.T) {
	t.Parallel()
	for end, words := range map[string]string{"canceled": "nothing was imported", "done": "was applied already", "failed": "nothing was imported: why"} {
		looked, canceled := make(chan struct{}, 100), make(chan struct{})
		u := fake(t, func(w http.ResponseWriter, r *http.Request) {
			phase := "validating"
			switch r.Method {
			case http.MethodDelete:
				close(canceled)
			case http.MethodGet:
				looked <- struct{}{}
				select {
				case <-canceled:
					phase = end
				default:
				}
			}
			fmt.Fprintf(w, `{"id":"i1","phase":%q,"rows":1,"error":{"code":"X","detail":"why"}}`, phase)
		})
		require.NoError(t, os.WriteFile(filepath.Join(u.dir, "tags.csv"), []byte("tagId\n"), 0o600))
		cmd := u.command("config", "tags", "import", "tags.csv")
		var notes strings.Builder
		cmd.Stderr = &notes
		require.NoError(t, cmd.Start())
		<-looked
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		_ = cmd.Wait()
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), notes.String())
		require.Contains(t, notes.String(), words)
		select {
		case <-canceled:
		default:
			t.Fatal("the import was not canceled")
		}
	}
}

// terminal runs a command line of a shell in a terminal of script(1), which types answers when it sees what they are to.
func terminal(t *testing.T, u *user, line string, answers ...string) (code int, shown string) {
	t.Helper()
	program(t, "otctl")
	cmd := exec.Command(realtest.Need(t, "script"), "-qfec", line, "/dev/null")
	cmd.Env, cmd.Dir = append(u.env, "SHELL=/bin/sh"), u.dir
	keys, err := cmd.StdinPipe()
	require.NoError(t, err)
	screen, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var all []byte
	for next := make([]byte, 4096); ; {
		n, err := screen.Read(next)
		all = append(all, next[:n]...)
		if len(answers) > 0 && bytes.Contains(all, []byte(answers[0])) {
			_, err := io.WriteString(keys, answers[1])
			require.NoError(t, err)
			answers = answers[2:]
		}
		if err != nil {
			break
		}
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode(), string(all)
}

func TestOnATerminal(t *testing.T) {
	t.Parallel()
	var got string
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/upload" {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, `{"created":1}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		got = string(body)
		fmt.Fprint(w, `{"accessToken":"a","refreshToken":"r","expiresIn":3600,"roles":["Admin"]}`)
	})
	code, shown := terminal(t, u, `(until stty -a </dev/tty | grep -q -- "-echo "; do :; done; echo READY) & otctl login`, "User: ", "ann\n", "READY", "not to be seen\n")
	require.Equal(t, 0, code, shown)
	require.JSONEq(t, `{"username":"ann","password":"not to be seen"}`, got)
	require.Contains(t, shown, "as ann (Admin)")
	require.NotContains(t, shown, "not to be seen")

	// An interrupt ends the prompt, and what is typed afterwards is seen.
	code, shown = terminal(t, u, "trap : INT; otctl login -user ann; echo code $?; stty -a", "Password: ", "\x03")
	require.Equal(t, 0, code, shown)
	require.Contains(t, shown, "code 130")
	require.Contains(t, shown, " echo ")

	require.NoError(t, os.WriteFile(filepath.Join(u.dir, "shells.json"), make([]byte, 1<<20), 0o600))
	code, shown = terminal(t, u, "otctl aas import shells.json")
	require.Equal(t, 0, code, shown)
	require.Regexp(t, `sending shells\.json \[#*[ #]*\] +\d+% .* of 1\.0 MiB`, shown)
	require.Regexp(t, `\x1b\[KCREATED`, shown, "the progress is removed")
}

func TestAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		realtest.Skip(t, "there is no /dev/full")
	}
	defer full.Close()
	cmd := newUser(t, "127.0.0.1:1").command("help")
	var notes strings.Builder
	cmd.Stdout, cmd.Stderr = full, &notes
	_ = cmd.Run()
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Contains(t, notes.String(), "no space left")
}

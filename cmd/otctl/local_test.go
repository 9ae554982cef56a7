package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandsWithoutAnEngine(t *testing.T) {
	t.Parallel()
	u := newUser(t, "127.0.0.1:1")
	require.NotEmpty(t, u.ok("version"))
	require.Contains(t, u.ok("help"), "tags get NAME...")
	require.NotContains(t, u.ok("help", "alarms"), "tags")
	r := u.run("tags", "set", "-h")
	require.Equal(t, 0, r.code)
	require.Contains(t, r.err, "-confirm")
	require.Equal(t, 2, u.run().code)
	require.Equal(t, 2, u.run("tags", "list", "-nope").code)
	u.fails(2, `is "tags list" meant?`, "tags", "lsit")
	u.fails(1, "refused", "tags", "list")
	u.fails(1, "refused", "tags", "set", "a", "1")
	u.fails(2, "-server", "tags", "list", "-server", "ftp://x")
	u.fails(2, "no terminal", "login", "-user", "admin")
	u.fails(1, "no certificate", "tags", "list", "-ca-file", os.DevNull)
}

// fake is an engine that answers as a test wants.
func fake(t *testing.T, answer http.HandlerFunc) *user {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return newUser(t, s.URL)
}

const aTag = `{"tag":{"name":"sim.a b%","driver":"sim","address":"a","dataType":"Int","accessMode":"ReadWrite","quality":"Good","currentValue":{"int64Value":1},"lastUpdated":"2026-01-01T00:00:00Z"}}`

func TestAWriteWithoutAnAnswerIsUnknownAndNotRepeated(t *testing.T) {
	t.Parallel()
	var writes atomic.Int32
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, aTag)
			return
		}
		writes.Add(1)
		panic(http.ErrAbortHandler)
	})
	u.fails(6, "may have been carried out", "tags", "set", "sim.a b%", "2")
	require.Equal(t, int32(1), writes.Load())
	u.fails(6, "devices outcome robot ", "devices", "command", "robot", "PickUp")
	require.Equal(t, int32(2), writes.Load())
}

func TestOutcomesHaveExitCodes(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"Written": 0, "Confirmed": 0, "Failed": 1, "Unconfirmed": 6, "Unknown": 6, "Queued": 6} {
		u := fake(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost:
				fmt.Fprint(w, `{"success":true,"message":"","writeId":"w1"}`)
			case strings.Contains(r.URL.Path, "/writes/"):
				fmt.Fprintf(w, `{"writeId":"w1","tagName":"sim.a b%%","value":{"int64Value":2},"state":%q,"error":"why","requestedBy":"","queuedAt":"2026-01-01T00:00:00Z"}`, state)
			default:
				fmt.Fprint(w, aTag)
			}
		})
		r := u.run("tags", "set", "sim.a b%", "2", "-wait", "50ms")
		require.Equal(t, code, r.code, "%s: %s", state, r.err)
		require.Contains(t, r.out, state)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	u.fails(1, "307", "tags", "get", "a")
	require.Zero(t, elsewhere.Load())
}

func TestAWatchComesBackAndTellsWhatMayBeMissing(t *testing.T) {
	t.Parallel()
	var streams atomic.Int32
	u := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": alive\n\nevent: change\ndata: {\"changes\":[{\"tagName\":\"a\",\"newValue\":{\"int64Value\":%d},\"quality\":\"Good\",\"timestamp\":\"2026-01-01T00:00:00Z\"}]}\n\n", streams.Add(1))
	})
	r := u.run("tags", "watch", "a", "-count", "3")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, 3, strings.Count(r.out, "Good"))
	require.Equal(t, 2, strings.Count(r.err, "connection lost at"), r.err)
	require.Equal(t, 2, strings.Count(r.err, "changes in between may be missing here; see otctl tags history"), r.err)
}

func TestAnEngineThatIsNoneIsToldApart(t *testing.T) {
	t.Parallel()
	u := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "<html>")
	})
	u.fails(1, "502 Bad Gateway", "drivers", "list")
	u = fake(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	u.fails(1, "not what the API has", "drivers", "list")
}

func TestAnExportThatBreaksOffLeavesNoFile(t *testing.T) {
	t.Parallel()
	u := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "tag,timestamp\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	u.fails(1, "broke off", "tags", "export", "a", "-file", "out.csv")
	found, err := filepath.Glob(filepath.Join(u.dir, "out*"))
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"tags":[{"name":"sim.two words"},{"name":"sim.x$(touch hacked)"}],"totalCount":2}`)
	})
	u.fails(2, "bash, zsh and fish", "completion", "tcsh")
	require.Contains(t, u.ok("completion", "zsh"), "compdef")
	require.Contains(t, u.ok("completion", "fish"), "complete -c otctl")
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	program(t, "otctl")
	cmd := exec.Command(bash, "--norc", "-c", `eval "$(otctl completion bash)"; COMP_WORDS=(otctl tags get sim.); COMP_CWORD=3; _otctl; printf '%s\n' "${COMPREPLY[@]}"`)
	cmd.Env, cmd.Dir = u.env, u.dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "sim.two\\ words\nsim.x\\$\\(touch\\ hacked\\)\n", string(out))
	_, err = os.Stat(filepath.Join(u.dir, "hacked"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

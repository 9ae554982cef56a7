package main_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestCommandsWithoutAnEngine(t *testing.T) {
	t.Parallel()
	u := newUser(t, "127.0.0.1:1")
	version := strings.TrimSpace(u.ok("version"))
	require.NotEmpty(t, version)
	require.JSONEq(t, `{"version":"`+version+`"}`, u.ok("version", "-o", "json"))
	require.Contains(t, u.ok("help"), "tags get NAME...")
	require.NotContains(t, u.ok("help", "alarms"), "tags")
	helpIsPrintedWhereItBelongs(t, u)
	u.fails(2, `is "tags list" meant?`, "tags", "lsit")
	for _, words := range []string{"tags list", "tags set a 1"} {
		require.Equal(t, result{code: 1, err: "otctl: the engine at http://127.0.0.1:1 cannot be reached: connection refused\n"}, u.run(strings.Fields(words)...))
	}
	u.fails(2, "-server", "tags", "list", "-server", "ftp://x")
	u.fails(2, "no terminal", "login", "-user", "admin")
	u.fails(1, "no certificate", "tags", "list", "-ca-file", os.DevNull)
}

// helpIsPrintedWhereItBelongs: help that was asked for is output, and that after a mistake is not.
func helpIsPrintedWhereItBelongs(t *testing.T, u *user) {
	for words, line := range map[string]string{"": "usage: otctl COMMAND", "tags": "tags get NAME...", "tags set": "-confirm"} {
		for _, flag := range []string{"-h", "--help"} {
			require.Contains(t, u.ok(append(strings.Fields(words), flag)...), line)
		}
	}
	for words, line := range map[string]string{"": "usage: otctl COMMAND", "tags": "tags get NAME...", "tags set -nope": "-confirm", "-nope": "usage: otctl COMMAND"} {
		r := u.run(strings.Fields(words)...)
		require.Equal(t, 2, r.code, words)
		require.Empty(t, r.out, words)
		require.Contains(t, r.err, line, words)
	}
	require.Contains(t, u.run("tags", "set", "-nope").err, "flag provided but not defined: -nope\n")
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

func TestALostConnectionIsToldWithoutTheRequest(t *testing.T) {
	t.Parallel()
	u := fake(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.Regexp(t, `^otctl: the connection to the engine at http://127.0.0.1:\d+ was lost before it answered: EOF\n$`, u.run("tags", "list").err)
}

func TestWhatAProxyAnswersIsNoOutcome(t *testing.T) {
	t.Parallel()
	for answer, code := range map[string]int{"<html>502 Bad Gateway</html>": 6, `{"code":"BRIDGE_CONNECTION_FAILED","detail":"no bridge"}`: 1} {
		u := fake(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, aTag)
				return
			}
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, answer)
		})
		u.fails(code, "otctl: ", "tags", "set", "sim.a b%", "2")
	}
}

// The engine that was asked has passed the change on to another one, which does not answer.
func TestWhatAnotherEngineMayHaveDoneIsUnknown(t *testing.T) {
	t.Parallel()
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, aTag)
			return
		}
		code := "WRITE_UNANSWERED"
		if strings.Contains(r.URL.Path, "/devices/") {
			code = "DEVICES_UNANSWERED"
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"code":%q,"detail":"no answer: w1"}`, code)
	})
	u.fails(6, "w1", "tags", "set", "sim.a b%", "2")
	u.fails(6, "devices outcome robot ", "devices", "command", "robot", "PickUp")
}

func TestCertificatesAreChecked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, aTag)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	u := newUser(t, s.URL)
	u.fails(1, "certificate", "tags", "get", "a")
	require.Zero(t, asked.Load())
	ca := filepath.Join(u.dir, "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	u.ok("tags", "get", "a", "-ca-file", ca)
}

// hubOf serves the hub of consoles: serve sends what follows an invocation of Alarms with a position, and returns to cut the connection.
func hubOf(serve func(since string, send func(text string))) http.HandlerFunc {
	asked := make(chan string, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/negotiate"):
			fmt.Fprint(w, `{"connectionToken":"secret"}`)
		case r.URL.Path == "/hubs/console" && r.Method == http.MethodPost:
			body, _ := io.ReadAll(r.Body)
			for _, one := range strings.Split(string(body), "\x1e") {
				var m struct {
					Target    string
					Arguments []string
				}
				if json.Unmarshal([]byte(one), &m) == nil && m.Target == "Alarms" {
					asked <- m.Arguments[0]
				}
			}
		case r.URL.Path == "/hubs/console":
			w.Header().Set("Content-Type", "text/event-stream")
			send := func(text string) {
				fmt.Fprintf(w, "data: %s\x1e\n\n", text)
				w.(http.Flusher).Flush()
			}
			w.(http.Flusher).Flush()
			serve(<-asked, send)
		default:
			fmt.Fprint(w, `{"alarms":[{"id":"1","code":7,"severity":"Warning","source":"tank","message":"full","isActive":true,"triggeredAt":"2026-01-01T00:00:00Z","acknowledgedAt":null,"acknowledgedBy":null}],"totalCount":1}`)
		}
	}
}

func TestAWatchOfAlarmsResumesBehindTheLastTransition(t *testing.T) {
	t.Parallel()
	event := func(position, kind, source string) string {
		return fmt.Sprintf(`{"type":1,"target":"alarms","arguments":[{"position":%[1]q,"items":[{"position":%[1]q,"kind":%[2]q,"at":"2026-01-01T00:00:00Z","by":"ann","comment":"seen","code":7,`+
			`"alarm":{"id":"1","code":7,"severity":"Warning","source":%[3]q,"message":"full","isActive":true,"triggeredAt":"2026-01-01T00:00:00Z","labels":{"area":"A"}}}]}]}`, position, kind, source)
	}
	var since []string
	u := fake(t, hubOf(func(position string, send func(string)) {
		since = append(since, position)
		send(`{}`)
		switch len(since) {
		case 1:
			send(`{"type":3,"invocationId":"1","result":{"position":"5-a"}}`)
			send(`{"type":6}`)
			send(event("", "raised", "tank")) // cannot be stored yet
			send(event("6-b", "raised", "tank"))
			send(event("7-c", "outOfService", "pump"))
		case 2:
			send(`{"type":3,"invocationId":"1","error":"POSITION_GONE: read the alarms anew"}`)
		default:
			send(`{"type":3,"invocationId":"1","result":{"position":"9-d"}}`)
			send(event("10-e", "acknowledged", "tank"))
		}
	}))
	r := u.run("alarms", "watch", "-source", "TANK", "-count", "4")
	require.Equal(t, 0, r.code, r.err)
	require.Equal(t, []string{"", "7-c", ""}, since)
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	require.Len(t, lines, 4, r.out)
	for i, words := range []string{"unacknowledged", "raised", "unacknowledged", "acknowledged"} {
		require.Contains(t, lines[i], "  "+words+" ", r.out)
	}
	require.Contains(t, lines[3], "full (ann: seen)")
	require.Contains(t, r.err, "what happened in between is missing here")
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

func TestAlarmsAreMarkedAsOperatorsNameThem(t *testing.T) {
	t.Parallel()
	states := []struct{ state, acknowledged, mark string }{
		{"Unacknowledged", "", "unacknowledged"}, {"Acknowledged", `,"acknowledgedAt":"2026-01-01T00:01:00Z"`, "acknowledged"},
		{"Shelved", "", "shelved"}, {"Shelved", `,"acknowledgedAt":"2026-01-01T00:01:00Z"`, "shelved"},
		{"SuppressedByDesign", "", "suppressed"}, {"OutOfService", "", "out-of-service"},
		{"ReturnedUnacknowledged", "", "returned"}, {"Normal", `,"acknowledgedAt":"2026-01-01T00:01:00Z"`, "cleared"},
	}
	var list []string
	for i, s := range states {
		active := s.state != "ReturnedUnacknowledged" && s.state != "Normal"
		list = append(list, fmt.Sprintf(`{"id":"a%d","code":%[1]d,"source":"press","message":"hot","severity":"Warning","isActive":%t,"triggeredAt":"2026-01-01T00:00:00Z","state":%q%s}`, i, active, s.state, s.acknowledged))
	}
	u := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != "all" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"totalCount":%d,"page":1,"pageSize":500,"alarms":[%s]}`, len(list), strings.Join(list, ","))
	})
	out := u.ok("alarms", "list", "-state", "all")
	for i, s := range states {
		require.Regexp(t, fmt.Sprintf(`(?m)Warning +%s +press +%d +a%[2]d +hot$`, s.mark, i), out)
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
		fmt.Fprint(w, `{"tags":[{"name":"sim.two words"},{"name":"sim.x$(touch hacked)"},{"name":"urn:plant:scale=7"},{"name":"urn:plant:press"}],"totalCount":4}`)
	})
	u.fails(2, "bash, zsh and fish", "completion", "tcsh")
	require.Contains(t, u.ok("completion", "zsh"), "compdef")
	require.Contains(t, u.ok("completion", "fish"), "complete -c otctl")
	bash, zsh, fish := realtest.Need(t, "bash"), realtest.Need(t, "zsh"), realtest.Need(t, "fish")
	program(t, "otctl")
	shell := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Dir = u.env, u.dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Equal(t, "sim.two words\nsim.x$(touch hacked)\n", shell(fish, "--no-config", "-c", `otctl completion fish | source; complete -C "otctl tags get sim."`))
	require.Equal(t, "sim.two words|sim.x$(touch hacked)|files\n", shell(zsh, "-f", "-c", `autoload -Uz compinit; compinit -u -D; source <(otctl completion zsh)
		compadd() { print -rn -- "${(j:|:)names}|" }; _files() { print files }
		words=(otctl tags get sim.); CURRENT=4; _otctl; words=(otctl aas import ""); _otctl`))
	completed := func(words string) string {
		return shell(bash, "--norc", "-c", `eval "$(otctl completion bash)"; COMP_WORDBREAKS=$' \t\n"'"'"'@><=;|&(:'; COMP_WORDS=(`+words+`); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _otctl; printf '%s\n' "${COMPREPLY[@]}"`)
	}
	require.Equal(t, "sim.two\\ words\nsim.x\\$\\(touch\\ hacked\\)\n", completed("otctl tags get sim."))
	// Words as bash divides them: what is behind the last colon is completed.
	require.Equal(t, "plant:scale=7\nplant:press\n", completed("otctl tags get urn : pl"))
	require.Equal(t, "plant:scale=7\nplant:press\n", completed("otctl tags get urn :"))
	require.Equal(t, "7\n", completed("otctl tags get urn : plant : scale ="))
	_, err := os.Stat(filepath.Join(u.dir, "hacked"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

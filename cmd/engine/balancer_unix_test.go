//go:build unix

package main_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// balance starts a haproxy with the settings of deploy/cluster, but for the addresses, before engines. What it returns is called like an engine.
func balance(t *testing.T, engines []*engine) *engine {
	t.Helper()
	haproxy := realtest.Need(t, "haproxy", "/usr/sbin/haproxy")
	text, err := os.ReadFile(repository + "/deploy/cluster/haproxy.cfg")
	require.NoError(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(realtest.FreePort(t)))
	changes := []string{"bind :5001\n", "bind " + addr + "\n",
		"timeout check 2s\n", "timeout check 30s\n"} // an engine that answers late on a busy machine is not down
	for i, e := range engines {
		changes = append(changes, fmt.Sprintf(" engine-%d:5001 ", i+1), " "+e.addr+" ")
	}
	for i := 0; i < len(changes); i += 2 {
		require.Equal(t, 1, strings.Count(string(text), changes[i]), changes[i])
	}
	cmd := exec.Command(haproxy, "-db", "-f", file(t, "haproxy.cfg", strings.NewReplacer(changes...).Replace(string(text))))
	log := &output{}
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy:\n%s", log)
		}
	})
	lb := &engine{t: t, url: "http://" + addr, addr: addr, log: log}
	eventually(t, "haproxy has no engine", func() bool {
		answer, err := http.Get(lb.url + "/health/ready")
		if err != nil {
			return false
		}
		_ = body(t, answer.Body)
		return answer.StatusCode == http.StatusOK
	})
	return lb
}

// follower follows a tag by an event stream or by gRPC, which it opens again when it ends, and keeps the newest value.
type follower struct {
	mu    sync.Mutex
	value string
}

func (f *follower) set(v string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.value = v
}

func (f *follower) shows(t *testing.T, v string) {
	t.Helper()
	eventually(t, "a stream does not show "+v, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.Contains(f.value, v)
	})
}

// again calls open until the test ends.
func (f *follower) again(t *testing.T, open func(ctx context.Context)) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ; ctx.Err() == nil; rest(ctx, 50*time.Millisecond, 100*time.Millisecond) {
			open(ctx)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return f
}

func followEvents(t *testing.T, s *session, tag string) *follower {
	f := &follower{}
	return f.again(t, func(ctx context.Context) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/tags/stream?tagNames="+tag, nil)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Authorization", "Bearer "+s.token)
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err != nil {
			return
		}
		defer func() { _ = answer.Body.Close() }()
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				f.set(data)
			}
		}
	})
}

func followCalls(t *testing.T, s *session, tag string) *follower {
	f := &follower{}
	return f.again(t, func(context.Context) {
		stream, err := s.grpc.SubscribeTagChanges(s.rpc(), &platformv1.SubscribeTagChangesRequest{TagNames: []string{tag}})
		for err == nil {
			var change *platformv1.TagChangeNotification
			if change, err = stream.Recv(); err == nil {
				f.set(change.String())
			}
		}
	})
}

// shows reports whether a tag has a number, at an engine that may not have heard of it yet.
func (s *session) shows(name string, n float64) bool {
	s.t.Helper()
	answer, err := s.ReadTagWithResponse(s.t.Context(), name)
	require.NoError(s.t, err)
	if answer.JSON200 == nil {
		return false
	}
	shown, ok := answer.JSON200.Tag.CurrentValue.Float()
	return ok && shown == n
}

// withoutDatabase stops the database of engines behind a haproxy until haproxy has asked all of them whether they live while none was ready. They show the
// last value, and no call fails.
func withoutDatabase(t *testing.T, database *pgtest.Server, lb *engine, s *session, p *press, engines []*engine) {
	t.Helper()
	var direct []*session
	for i, e := range engines {
		direct = append(direct, e.with(s.token)) // it knows the session from now on
		eventually(t, "an engine does not show the value", func() bool { return direct[i].shows("press.level", float64(p.level.Load())) })
	}
	calls := s.calls(t)
	database.Kill()
	for i, e := range engines {
		eventually(t, "an engine is ready without a database", func() bool { code, _ := e.report("/health/ready"); return code == http.StatusServiceUnavailable })
		answer, err := http.Get(e.url + "/health/live")
		require.NoError(t, err)
		_ = body(t, answer.Body)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		eventually(t, "a value that nobody reads is shown as if it were", func() bool {
			require.True(t, direct[i].shows("press.level", float64(p.level.Load())))
			shown := direct[i].read("press.level")
			return shown.Quality == client.Uncertain && shown.QualityReason == "EngineLost"
		})
	}
	before := calls.passed()
	eventually(t, "calls do not pass", func() bool { return calls.passed() > before+300 }) // each takes 10 ms, and haproxy asks every second
	database.Start()
	for i, e := range engines {
		eventually(t, "an engine is not ready", func() bool {
			code, _ := e.report("/health/ready")
			_, r := e.report("/health")
			return code == http.StatusOK && r.Results["cluster"].Status == "Healthy" // and the bus is there
		})
		direct[i].good("press.level")
	}
	require.Zero(t, calls.failed(), "%d passed", calls.passed())
	require.NotContains(t, lb.log.String(), "wrong status")
}

// TestEnginesBehindALoadBalancer stops the database of engines behind the haproxy of deploy/cluster, kills one of them and drains another one: REST, event
// streams and gRPC go on with the others.
func TestEnginesBehindALoadBalancer(t *testing.T) {
	t.Parallel()
	database := pgtest.Own(t)
	env := with([]string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN()}, known)
	var engines []*engine
	data := map[*engine]string{}
	for range 3 {
		dir := t.TempDir()
		e := start(t, env, "-data", dir)
		engines, data[e] = append(engines, e), dir
	}
	lb := balance(t, engines)
	s := lb.admin()
	p := newPress(t, "127.0.0.1")
	made, err := s.CreateDriverWithResponse(t.Context(), client.DriverDefinition{ID: "press", Type: "Modbus", IPAddress: "127.0.0.1", Port: p.port, PollIntervalMs: 100,
		Settings: map[string]any{"Tags": []map[string]any{{"Name": "level", "Address": "HR:1", "Type": "UInt16"}, {"Name": "setpoint", "Address": "HR:2", "Type": "UInt16", "AccessMode": "ReadWrite"}}}})
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, made.StatusCode(), "%s", made.Body)
	followers := []*follower{followEvents(t, s, "press.level"), followCalls(t, s, "press.level")}
	works := func(level uint32, setpoint string) {
		t.Helper()
		p.level.Store(level)
		for _, f := range followers {
			f.shows(t, strconv.Itoa(int(level)))
		}
		for range 2 * len(engines) { // by whichever engine
			eventually(t, "an engine does not show the value", func() bool { return s.shows("press.level", float64(level)) })
		}
		require.Equal(t, client.Confirmed, s.settled(s.write("press", "setpoint", setpoint, true)).State)
	}
	works(12345, "1")

	withoutDatabase(t, database, lb, s, p, engines)
	works(13579, "5")

	gone := engines[0]
	gone.kill()
	calls := s.calls(t)
	eventually(t, "calls do not pass", func() bool { return calls.passed() > 100 })
	t.Logf("an engine is killed: %d calls failed, %d passed", calls.failed(), calls.passed())
	works(23456, "2")

	calls = s.calls(t)
	gone = engines[1]
	run(t, env, "", "drain", "-data", data[gone]).ok(t)
	works(34567, "3")
	gone.stop()
	before := calls.passed()
	eventually(t, "calls do not pass", func() bool { return calls.passed() > before+100 })
	require.Zero(t, calls.failed(), "an engine that is drained and stopped is missed")
	works(45678, "4")
}

// calls counts what becomes of calls that are made until the test ends, each by a connection of its own and repeated once.
type calls struct {
	mu      sync.Mutex
	ok, bad int
}

func (s *session) calls(t *testing.T) *calls {
	c := &calls{}
	api := connect(t, s.url, strings.TrimPrefix(s.url, "http://"), s.token, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, insecure.NewCredentials())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ; ctx.Err() == nil; rest(ctx, 10*time.Millisecond, 20*time.Millisecond) {
			passed := false
			for range 2 { // an engine that stops may have a connection that it has not accepted
				answer, err := api.ReadTagWithResponse(ctx, "press.level")
				if passed = err == nil && answer.StatusCode() == http.StatusOK; passed {
					break
				}
			}
			c.mu.Lock()
			switch {
			case ctx.Err() != nil:
			case passed:
				c.ok++
			default:
				c.bad++
			}
			c.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}

func (c *calls) passed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ok
}

func (c *calls) failed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad
}

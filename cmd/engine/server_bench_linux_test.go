package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// BenchmarkServerCPU compares the processor time that the engine needs for a request, access log on, with
// that of bare servers. Each server is a process of its own and this one is the client, so that the
// client's work counts nowhere. Rounds on both take turns, what a server uses at rest is subtracted, and the
// medians are reported. Run it with
// -benchtime 10x or more: one iteration is one round.
func BenchmarkServerCPU(b *testing.B) {
	path, err := builtForSpeed()
	require.NoError(b, err)
	bare := filepath.Join(b.TempDir(), "bareserver")
	out, err := exec.Command("go", "build", "-o", bare, "../../internal/bareserver").CombinedOutput()
	require.NoError(b, err, "%s", out)

	ours := launchLogged(b, path)
	admin := ours.admin()
	const tag = "/api/v1/tags/sim.temperature"
	names := []string{"sim.temperature", "sim.counter", "sim.running", "sim.recipe", "sim.pressure"}
	batch, err := json.Marshal(map[string]any{"tagNames": slices.Repeat(names, 100)})
	require.NoError(b, err)
	request := &platformv1.ReadTagRequest{TagName: "sim.temperature"}
	ctx := admin.rpc()
	message, err := admin.grpc.ReadTag(ctx, request)
	require.NoError(b, err)
	encoded, err := proto.Marshal(message)
	require.NoError(b, err)

	transport := &http.Transport{MaxIdleConnsPerHost: callers}
	defer transport.CloseIdleConnections()
	send := func(method, url string, body []byte) func() error {
		return func() error { return roundTrip(transport, admin.token, method, url, body) }
	}
	answer := func(method, path string, body []byte) []byte {
		return fetched(b, transport, admin.token, method, ours.url+path, body)
	}
	b.Run("grpc-ReadTag", func(b *testing.B) {
		other := launchBare(b, bare, "grpc", encoded)
		conn, err := grpc.NewClient(other.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(b, err)
		defer func() { _ = conn.Close() }()
		api := platformv1.NewPlatformApiClient(conn)
		call := func(api platformv1.PlatformApiClient) func() error {
			return func() error { _, err := api.ReadTag(ctx, request); return err }
		}
		rounds(b, 20_000, side{ours, call(admin.grpc)}, side{other, call(api)})
	})
	b.Run("rest-ReadTag", func(b *testing.B) {
		other := launchBare(b, bare, "rest", answer(http.MethodGet, tag, nil))
		rounds(b, 20_000, side{ours, send(http.MethodGet, ours.url+tag, nil)}, side{other, send(http.MethodGet, other.url+tag, nil)})
	})
	b.Run("rest-batchRead-500", func(b *testing.B) {
		const path = "/api/v1/tags:batchRead"
		other := launchBare(b, bare, "batch", answer(http.MethodPost, path, batch))
		rounds(b, 1000, side{ours, send(http.MethodPost, ours.url+path, batch)}, side{other, send(http.MethodPost, other.url+path, batch)})
	})
}

const callers = 32

// side is a server with a call to it.
type side struct {
	server *engine
	call   func() error
}

// rounds makes calls to both sides in turns and reports the median processor time of a call, and the median of
// the rounds' ratios.
func rounds(b *testing.B, calls int, ours, bare side) {
	b.Helper()
	atRest := map[*engine]float64{ours.server: ours.server.idleShare(), bare.server: bare.server.idleShare()}
	measure := func(s side) float64 {
		before, start := s.server.schedulerCPU(), time.Now()
		spread(b, calls, s.call)
		own := atRest[s.server] * float64(time.Since(start))
		return (float64(s.server.schedulerCPU()-before) - own) / 1000 / float64(calls)
	}
	measure(ours) // warm
	measure(bare)
	var ourTimes, bareTimes, ratios []float64
	b.ResetTimer()
	for range b.N {
		x, y := measure(bare), measure(ours)
		bareTimes, ourTimes, ratios = append(bareTimes, x), append(ourTimes, y), append(ratios, y/x)
	}
	b.ReportMetric(0, "ns/op") // a round's length says nothing
	b.ReportMetric(median(ourTimes), "cpu-µs/call")
	b.ReportMetric(median(bareTimes), "cpu-µs/bare")
	b.ReportMetric(median(ratios), "ratio")
}

// idleShare is the share of a core that a server uses without calls, which the demo plant has for its own work.
func (e *engine) idleShare() float64 {
	before, start := e.schedulerCPU(), time.Now()
	time.Sleep(2 * time.Second)
	return float64(e.schedulerCPU()-before) / float64(time.Since(start))
}

func median(list []float64) float64 {
	slices.Sort(list)
	return (list[len(list)/2] + list[(len(list)-1)/2]) / 2
}

// spread has n calls made by as many callers as there are.
func spread(b *testing.B, n int, call func() error) {
	b.Helper()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := c; i < n; i += callers {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// launchLogged starts the demo engine with its log in a file, as a service manager has it.
func launchLogged(b *testing.B, path string) *engine {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "log"))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, file.Close()) })
	e := prepare(b, path, slices.Concat(known, []string{"Log__Requests=true"}), "-demo", "-data", b.TempDir())
	e.cmd.Stderr = file
	e.run()
	e.ready()
	b.Cleanup(func() {
		info, err := file.Stat()
		require.NoError(b, err)
		require.Greater(b, info.Size(), int64(100_000), "the access log is off")
	})
	return e
}

// launchBare starts a bare server that gives an answer.
func launchBare(b *testing.B, path, kind string, answer []byte) *engine {
	b.Helper()
	file := filepath.Join(b.TempDir(), "answer")
	require.NoError(b, os.WriteFile(file, answer, 0o600))
	cmd := exec.Command(path, kind, file)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	cmd.Stderr = os.Stderr
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(b, err)
	addr = strings.TrimSpace(addr)
	return &engine{t: b, cmd: cmd, addr: addr, url: "http://" + addr}
}

// schedulerCPU is the processor time of a process to the nanosecond, which [engine.cpu] has in ticks.
func (e *engine) schedulerCPU() (total time.Duration) {
	e.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", e.cmd.Process.Pid))
	require.NoError(e.t, err)
	require.NotEmpty(e.t, files)
	for _, file := range files { // threads of Go do not end
		text, err := os.ReadFile(file)
		require.NoError(e.t, err)
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		require.NoError(e.t, err)
		total += time.Duration(ns)
	}
	return total
}

func roundTrip(transport http.RoundTripper, token, method, url string, body []byte) error {
	_, err := converse(transport, token, method, url, body, io.Discard)
	return err
}

func fetched(b *testing.B, transport http.RoundTripper, token, method, url string, body []byte) []byte {
	b.Helper()
	var answer bytes.Buffer
	_, err := converse(transport, token, method, url, body, &answer)
	require.NoError(b, err)
	return answer.Bytes()
}

func converse(transport http.RoundTripper, token, method, url string, body []byte, into io.Writer) (int64, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	return io.Copy(into, resp.Body)
}

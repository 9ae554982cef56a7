package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/openapi/client"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// ids gathers what the engine has acknowledged.
type ids struct {
	mu  sync.Mutex
	all []string
}

func (l *ids) add(id ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, id...)
}

func (l *ids) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[:len(l.all):len(l.all)]
}

// writeUntilGone writes over REST, one by one, until the engine does not answer any more. A full queue
// is its good right; every other answer must be one that it may give.
func (s *session) writeUntilGone(ctx context.Context, acknowledged *ids) error {
	for n := 0; ; n++ {
		value := fmt.Sprint(n % 3000)
		answer, err := s.WriteTagWithResponse(ctx, "sim", "speed", nil, client.WriteRequest{Value: &value})
		switch {
		case err != nil:
			return nil //nolint:nilerr // the engine is gone, which is how this ends
		case answer.JSON200 != nil:
			acknowledged.add(answer.JSON200.WriteID)
		case answer.StatusCode() != http.StatusServiceUnavailable:
			return fmt.Errorf("%s %s", answer.Status(), answer.Body)
		}
	}
}

func (s *session) callUntilGone(ctx context.Context, acknowledged *ids) error {
	for n := 0; ; n++ {
		value := fmt.Sprint(n % 3000)
		answer, err := s.grpc.WriteTag(ctx, &platformv1.WriteTagRequest{DriverId: "sim", Address: "speed", Value: value})
		switch {
		case err == nil:
			acknowledged.add(answer.GetWriteId())
		case status.Code(err) != codes.Unavailable:
			return err
		case !strings.Contains(err.Error(), "WRITE_QUEUE_FULL") && !strings.Contains(err.Error(), "too many writes"):
			return nil
		}
	}
}

func TestSIGTERMDrains(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	e := start(t, known, "-demo", "-data", data)
	s := e.admin()
	s.good("sim.speed")

	var load sync.WaitGroup
	var acknowledged ids
	errs := make(chan error, 8)
	for range 3 {
		load.Go(func() { errs <- s.writeUntilGone(t.Context(), &acknowledged) })
	}
	load.Go(func() { errs <- s.callUntilGone(s.rpc(), &acknowledged) })

	events, err := http.Get(e.url + "/api/v1/tags/stream?tagNames=sim.speed&access_token=" + s.token)
	require.NoError(t, err)
	defer events.Body.Close()
	lines := bufio.NewReader(events.Body)
	_, err = lines.ReadString('\n')
	require.NoError(t, err)
	single, err := s.grpc.SubscribeTagChanges(s.rpc(), &platformv1.SubscribeTagChangesRequest{TagNames: []string{"sim.speed"}})
	require.NoError(t, err)
	batch, err := s.grpc.StreamTagChanges(s.rpc(), &platformv1.StreamTagChangesRequest{NamePatterns: []string{"%"}})
	require.NoError(t, err)
	_, err = single.Recv()
	require.NoError(t, err)
	_, err = batch.Recv()
	require.NoError(t, err)

	eventually(t, "writes are not acknowledged", func() bool { return len(acknowledged.list()) > 300 })
	e.signal(syscall.SIGTERM)
	_, err = io.Copy(io.Discard, lines)
	require.NoError(t, err, "the events end with the end of the answer, not with a broken connection")
	for err = nil; err == nil; {
		_, err = single.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	require.Contains(t, status.Convert(err).Message(), "stopping")
	for err = nil; err == nil; {
		_, err = batch.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err), err)
	require.Equal(t, 0, e.exit(), "%s", e.log)
	load.Wait()
	for range cap(errs) / 2 {
		require.NoError(t, <-errs)
	}

	s = start(t, nil, "-demo", "-data", data).with(s.token)
	for _, id := range acknowledged.list() {
		w := s.outcome(id)
		require.Equal(t, client.Written, w.State, "%s %s", id, w.Error)
	}
}

// stuck opens a request whose body never comes.
func (e *engine) stuck() {
	e.t.Helper()
	conn, err := net.Dial("tcp", e.addr)
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprint(conn, "POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	require.NoError(e.t, err)
	line, err := bufio.NewReader(conn).ReadString('\n') // comes when the handler reads the body
	require.NoError(e.t, err)
	require.Contains(e.t, line, "100")
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	e := start(t, known, "-data", t.TempDir())
	e.stuck()
	e.signal(syscall.SIGINT)
	eventually(t, "the engine does not begin to stop", func() bool { return strings.Contains(e.log.String(), "stopping") })
	e.signal(syscall.SIGTERM)
	require.Equal(t, 1, e.exit())
}

// A client that does not let go uses up its share of the time to stop, not that of the history.
func TestStopBesideAStuckClientKeepsTheHistory(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	env := append([]string{"Server__ShutdownTimeout=3s", "Tags__History__FlushEvery=1m"}, known...)
	e := start(t, env, "-demo", "-data", data)
	began := time.Now().Add(-2 * time.Second) // the demo stamps its values in steps of half a second
	s := e.admin()
	s.good("sim.counter")
	w := s.settled(s.write("sim", "speed", "777", true))
	require.Equal(t, client.Confirmed, w.State)
	eventually(t, "the new value is not read", func() bool { return s.number("sim.speed") == 777 })
	e.stuck()
	e.signal(syscall.SIGTERM)
	require.Equal(t, 0, e.exit(), "%s", e.log)
	require.Contains(t, e.log.String(), "cut off")

	s = start(t, nil, "-demo", "-data", data).with(s.token)
	values := map[string]bool{}
	for _, p := range s.history("sim.speed", began, w.CompletedAt.Add(time.Second), 100) {
		values[p.Value.String()] = true
	}
	require.Contains(t, values, "777", "what waited to be stored was stored")
}

func TestSignalWhileStarting(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // a database server that takes connections and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	taken := make(chan struct{})
	go func() {
		conn, err := silent.Accept()
		if err == nil {
			close(taken)
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	env := []string{"Storage__Driver=postgres", "Storage__Dsn=postgres://u:p@" + silent.Addr().String() + "/db?sslmode=disable"}
	e := launch(t, binary(t), env, "-data", t.TempDir())
	select {
	case <-taken:
	case <-time.After(patience):
		t.Fatal("the engine does not connect to the database")
	}
	e.signal(syscall.SIGTERM)
	require.Equal(t, 0, e.exit(), "%s", e.log)
}

func TestJSONLogLinesHoldAcrossAStop(t *testing.T) {
	t.Parallel()
	e := start(t, append([]string{"Log__Format=json"}, known...), "-demo", "-data", t.TempDir())
	require.Equal(t, http.StatusOK, e.admin().status())
	const requests = 20
	for i := range requests {
		resp, err := http.Get(e.url + "/openapi.yaml?n=" + strconv.Itoa(i))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	e.stop()
	for line := range strings.Lines(e.log.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	found := 0
	for _, line := range e.lines("request") {
		if path, _ := line["path"].(string); strings.HasPrefix(path, "/openapi.yaml?n=") {
			found++
		}
	}
	require.Equal(t, requests, found, "lines of requests that waited are written at the stop")
}

package signalr_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/otkit/otkit/transport/signalr"
)

// alarm is an invocation of the size that alarms have.
const alarm = "Boiler 3: pressure above the high-high limit "

// BenchmarkBroadcast sends to 200 clients with WebSockets on loopback, in the same process, and waits
// until all have all. Every client checks the order.
func BenchmarkBroadcast(b *testing.B) {
	const clients = 200
	p := startPlant(b, "127.0.0.1:0", signalr.Options{QueueMessages: 1 << 20, QueueBytes: 1 << 30}, nil)
	done := make(chan error, clients)
	for range clients {
		socket := crowdSocket(b, p.url())
		go func() { done <- countAlarms(b.Context(), socket, b.N) }()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		require.NoError(b, p.hub.Broadcast("ReceiveAlarm", alarm+strconv.Itoa(i), "Critical", "2026-01-02T03:04:05.678Z"))
	}
	for range clients {
		require.NoError(b, <-done)
	}
	b.ReportMetric(float64(b.N)*clients/b.Elapsed().Seconds(), "deliveries/s")
}

// crowdSocket returns a client past the handshake.
func crowdSocket(t testing.TB, url string) *websocket.Conn {
	t.Helper()
	socket, _, err := websocket.Dial(t.Context(), url, nil)
	require.NoError(t, err)
	socket.SetReadLimit(-1)
	t.Cleanup(func() { _ = socket.CloseNow() })
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(hello)))
	_, data, err := socket.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, "{}\x1e", string(data))
	return socket
}

// countAlarms reads so many alarms and checks that they are numbered from 0 on.
func countAlarms(ctx context.Context, socket *websocket.Conn, n int) error {
	for i := 0; i < n; {
		_, data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		for record := range bytes.SplitAfterSeq(data, []byte{0x1e}) {
			if len(record) == 0 || bytes.HasPrefix(record, []byte(`{"type":6}`)) {
				continue
			}
			if want := alarm + strconv.Itoa(i) + `"`; !bytes.Contains(record, []byte(want)) {
				return fmt.Errorf("%s where %s is due", record, want)
			}
			i++
		}
	}
	return nil
}

// The hub must reach: 1,000 alarms for 200 stock clients in order within 2 s and with
// 60 MB more than idle, and five stalled clients change nothing for the rest.
func TestThousandAlarmsToTwoHundredClients(t *testing.T) {
	const clients, messages = 200, 1000
	for _, transport := range []string{"WebSockets", "ServerSentEvents", "LongPolling"} {
		for _, stalled := range []int{0, 5} {
			t.Run(transport+" beside "+strconv.Itoa(stalled)+" stalled", func(t *testing.T) {
				p := startPlant(t, "127.0.0.1:0", signalr.Options{}, nil)
				memory(t)
				idle := memory(t)
				crowd := startStock(t, "testdata/crowd.cjs", stockOptions{URL: p.url(), Transport: transport, Clients: clients, Messages: messages})
				crowd.await("started")
				for range stalled {
					crowdSocket(t, p.url())
				}
				start := time.Now()
				for i := range messages {
					require.NoError(t, p.hub.Broadcast("ReceiveAlarm", alarm+strconv.Itoa(i), "Critical", "2026-01-02T03:04:05.678Z"))
				}
				sent := time.Since(start)
				require.Zero(t, crowd.await("done").Misplaced)
				took, grown := time.Since(start), memory(t)-idle
				t.Logf("sent in %v, delivered in %v, %.1f MB more than idle", sent, took, grown)
				if !raceDetector {
					require.Less(t, grown, 60.0)
				}
			})
		}
	}
}

// On a real network a client that does not read fills buffers of megabytes before it stalls.
func TestStalledClientsOnANetwork(t *testing.T) {
	const good, stalled, rounds, messages = 10, 5, 60, 1000
	// These clients send nothing after the handshake, and a busy machine takes its time.
	p := startPlant(t, "127.0.0.1:0", signalr.Options{ClientTimeout: time.Hour}, nil)
	memory(t)
	idle := memory(t)
	for range stalled {
		crowdSocket(t, p.url())
	}
	sockets := make([]*websocket.Conn, good)
	for i := range sockets {
		sockets[i] = crowdSocket(t, p.url())
	}
	padding, start := strings.Repeat("x", 300), time.Now()
	for range rounds {
		var received errgroup.Group
		for _, socket := range sockets {
			received.Go(func() error { return countAlarms(t.Context(), socket, messages) })
		}
		for i := range messages {
			require.NoError(t, p.hub.Broadcast("ReceiveAlarm", alarm+strconv.Itoa(i), padding))
		}
		require.NoError(t, received.Wait())
	}
	t.Logf("%d messages in %v, %.1f MB more than idle", rounds*messages, time.Since(start), memory(t)-idle)
	require.Equal(t, good, p.hub.Stats().WebSockets)
	require.Equal(t, uint64(stalled), p.hub.Stats().Cut)
}

// memory returns the resident memory of this process in MB, its peak since the last call.
func memory(t *testing.T) float64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	debug.FreeOSMemory()
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	require.True(t, found)
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // resets the peak
	return float64(kB) / 1024
}

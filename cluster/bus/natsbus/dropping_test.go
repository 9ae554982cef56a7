package natsbus_test

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus/natsbus"
)

// dropping is a server that takes each connection and drops it as soon as it is in use.
func dropping(t *testing.T) (url string, taken *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	taken = &atomic.Int32{}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := conn.Write([]byte(`INFO {"server_id":"S","version":"2.9.10","proto":1,"headers":true,"max_payload":16777216}` + "\r\n")); err != nil {
					return
				}
				pings := 0
				for lines := bufio.NewScanner(conn); pings < 2 && lines.Scan(); { // of the connection, and of the check of it
					if lines.Text() != "PING" {
						continue
					}
					if _, err := conn.Write([]byte("PONG\r\n")); err != nil {
						return
					}
					pings++
				}
				taken.Add(1)
			})
		}
	})
	return "nats://" + l.Addr().String(), taken
}

// A server that drops the engine again and again is asked less and less often.
func TestAServerThatDropsEachConnection(t *testing.T) {
	url, taken := dropping(t)
	b, err := natsbus.Connect(t.Context(), natsbus.Options{URLs: []string{url}})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	eventually(t, "the engine does not try again", func() bool { return taken.Load() > 3 })
	before := taken.Load()
	time.Sleep(3 * time.Second)
	require.Less(t, taken.Load()-before, int32(12), "it tries every 100 ms")
}

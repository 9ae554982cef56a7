package realtest_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

func TestWire(t *testing.T) {
	if !realtest.Isolated(t) {
		return
	}
	realtest.Need(t, "bash")
	n := realtest.NewNetwork(t)
	w := n.Wire(t, "near0", "10.1.0.1/24", "far0", "10.1.0.2/24")
	l, err := net.Listen("tcp", "10.1.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(conn, "hello")
			_ = conn.Close()
		}
	}()
	call := func() string {
		return n.Run(t, "timeout", "--preserve-status", "-s", "KILL", "5", "bash", "-c",
			fmt.Sprintf("exec 3<>/dev/tcp/10.1.0.1/%d && head -1 <&3 || true", l.Addr().(*net.TCPAddr).Port))
	}
	require.Equal(t, "hello\n", call())

	w.Set(realtest.WireQuality{Delay: 100 * time.Millisecond})
	began := time.Now()
	require.Equal(t, "hello\n", call())
	require.Greater(t, time.Since(began), 200*time.Millisecond)

	w.Set(realtest.WireQuality{Loss: 1})
	time.AfterFunc(time.Second, func() { w.Set(realtest.WireQuality{}) })
	began = time.Now()
	require.Equal(t, "hello\n", call(), "TCP asks again")
	require.Greater(t, time.Since(began), time.Second)
}

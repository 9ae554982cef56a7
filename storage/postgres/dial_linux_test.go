package postgres

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsNoticeASilentServer(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close()) }()
	conn, err := dialer().DialContext(t.Context(), "tcp", server.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	option := func(level, name int) (value int) {
		require.NoError(t, raw.Control(func(fd uintptr) {
			value, err = syscall.GetsockoptInt(int(fd), level, name)
		}))
		require.NoError(t, err)
		return value
	}
	require.Equal(t, 20_000, option(syscall.IPPROTO_TCP, tcpUserTimeout), "unacknowledged data")
	require.NotZero(t, option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE))
	require.Equal(t, 10, option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), "seconds without data")
	require.Equal(t, 3, option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL))
	require.Equal(t, 3, option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT))
}

package realtest_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
)

// Servers of tests that run at the same time take a while until they listen.
func TestPortsOfOneTestAreNotThoseOfAnother(t *testing.T) {
	if l, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback}); err != nil {
		realtest.Skip(t, "there is no ::1")
	} else {
		require.NoError(t, l.Close())
	}
	seen := map[int]bool{}
	for range 500 {
		port := realtest.FreePort(t)
		require.False(t, seen[port], port)
		seen[port] = true
	}
}

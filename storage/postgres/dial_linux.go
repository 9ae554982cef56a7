package postgres

import (
	"strings"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, which package syscall lacks on some machines.
const tcpUserTimeout = 0x12

// limitSilence makes the system close a connection whose peer has not acknowledged what was sent, which it
// would otherwise repeat for a quarter of an hour; keepalive does not look at a connection meanwhile.
func limitSilence(network, _ string, conn syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	if ctrlErr := conn.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(silence.Milliseconds()))
	}); ctrlErr != nil {
		return ctrlErr
	}
	return err
}

//go:build unix

package modbus_test

import "syscall"

// Signals that stop a peer's process and let it continue.
const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

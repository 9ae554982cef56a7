package modbus_test

import "syscall"

// Windows has no such signals, and the tests that send them need peers that it does not have either.
const (
	sigStop = syscall.Signal(0)
	sigCont = syscall.Signal(0)
)

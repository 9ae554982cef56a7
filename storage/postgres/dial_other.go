//go:build !linux

package postgres

import "syscall"

// limitSilence leaves a connection to what the system does.
func limitSilence(string, string, syscall.RawConn) error { return nil }

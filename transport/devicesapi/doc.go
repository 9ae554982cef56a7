// Package devicesapi serves the REST API of devices: what they are and do, commands, telemetry and a stream of changes.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package devicesapi

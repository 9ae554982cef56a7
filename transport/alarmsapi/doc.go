// Package alarmsapi serves the REST API of alarms: lists, acknowledging, shelving, rules and analytics.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth. The
// gRPC API is package alarmsgrpc.
package alarmsapi

// Package bridgeapi serves the REST API of a bridge host: binding, data of passive devices, the shell's configuration, monitoring, local
// accounts, the audit log and the license.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package bridgeapi

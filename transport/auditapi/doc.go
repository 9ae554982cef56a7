// Package auditapi serves the REST API of the audit log: list, export and verification.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth. The log is written
// by package transport/recorder.
package auditapi

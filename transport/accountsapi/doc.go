// Package accountsapi serves the REST API of accounts: logging in and out, refreshing tokens, changing the
// own password, and listing and ending sessions.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package accountsapi

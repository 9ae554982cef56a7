// Package alertingapi serves the REST API of alerting: silences, the alert history, the webhook, dead
// letters and channels.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package alertingapi

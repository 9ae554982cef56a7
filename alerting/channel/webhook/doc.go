// Package webhook is the channel that posts alarms as JSON to a program of the user's own.
//
// Each request has the header Idempotency-Key, which is the same however often a message is sent, and,
// when there is a secret, the headers X-Otkit-Timestamp (seconds since 1970) and X-Otkit-Signature:
// "sha256=" and the hex HMAC-SHA256 of timestamp, a dot and the body. [Verify] checks them.
package webhook

// Package webhook is the channel that posts alarms as JSON to a program of the user's own.
//
// The body is an alerting.Notification. Its id is that of the message; alarmId is that of the
// occurrence, the same when the alarm is raised and when it has cleared (resolved), and code that of the
// condition, the same each time it comes back. A digest has neither of the two.
//
// Each request has the header Idempotency-Key, which is the same however often a message is sent, and,
// when there is a secret, the headers X-Otkit-Timestamp (seconds since 1970) and X-Otkit-Signature:
// "sha256=" and the hex HMAC-SHA256 of timestamp, a dot and the body. [Verify] checks them.
package webhook

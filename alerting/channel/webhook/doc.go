// Package webhook is the channel that posts alarms as JSON to a program of your own.
//
// The body is an alerting.Notification. Its id is that of the message. alarmId identifies the occurrence: it is the same when the
// alarm is raised and when it has cleared (resolved). code identifies the condition: it is the same each time the alarm recurs.
// A digest has neither.
//
// Each request has the header Idempotency-Key, which is the same for each attempt to send a message, and,
// if there is a secret, the headers X-Otkit-Timestamp (seconds since 1970) and X-Otkit-Signature:
// "sha256=" and the hex HMAC-SHA256 of timestamp, a dot and the body. [Verify] checks them.
package webhook

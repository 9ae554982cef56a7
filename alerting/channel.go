package alerting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Channel sends notifications. Each channel is in a package of its own below channel. It may also implement [ResolvedSender],
// [Idempotent], [RecipientLister] and [Concurrent].
type Channel interface {
	// Name returns the name of the channel in routes, such as email.
	Name() string
	// Send returns when the peer has accepted or rejected n, or soon after ctx ends. Use [Permanent], [Retryable] or [Ambiguous] for
	// errors; any other error is ambiguous. Errors must not contain secrets: they are logged and listed with the dead letters. Send is
	// called concurrently for different recipients and for tests, and for one recipient only if the channel is [Concurrent].
	Send(ctx context.Context, n Notification) error
}

// ResolvedSender is an optional interface of a [Channel]. Without it the channel sends notifications about alarms that have cleared.
type ResolvedSender interface {
	// SendResolved reports whether the channel sends such notifications.
	SendResolved() bool
}

// Idempotent is an optional interface of a [Channel] whose receiver may discard duplicates by the key Notification.ID.
type Idempotent interface {
	// AcceptsKey reports whether it does.
	AcceptsKey() bool
}

// RecipientLister is an optional interface of a [Channel] with several recipients. Each gets a delivery of its own, with its own retries
// and dead letters. Notification.Recipient names the one to which Send sends.
type RecipientLister interface {
	// Recipients returns at least one key. Keys are different, stay the same over restarts, and do not contain secrets, because they
	// are stored and listed: see [RecipientKey].
	Recipients() []string
}

// Concurrent is an optional interface of a [Channel] that accepts several messages to one recipient at the same time. Messages about
// the same alarm are still sent in order, one after the other.
type Concurrent interface {
	// Concurrency returns the number of messages; 1 for one at a time.
	Concurrency() int
}

// RecipientKey returns a key for a recipient whose address is a secret, such as a device token: the
// first 12 hex digits of its SHA-256.
func RecipientKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:6])
}

// ChannelStatus is the state of a channel.
type ChannelStatus struct {
	Name        string
	Sent        uint64    // messages sent since the start
	Failed      uint64    // attempts that failed since the start
	PausedUntil time.Time // zero unless sending to every recipient is paused
	Recipients  int       // of the channel, at least 1
	Failing     int       // recipients whose last attempt failed; rejected messages are dead letters
	LastError   string    // of the last attempt; empty when it succeeded
}

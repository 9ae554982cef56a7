package alerting

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"
)

// Channel tells somebody. Each channel has a package of its own below channel.
type Channel interface {
	// Name is what routes call the channel, such as email.
	Name() string
	// Send tells, and returns when the peer has taken the message or has not. It ends soon after ctx
	// does. Its error should be made by [Permanent], [Retryable] or [Ambiguous] and holds no secret:
	// it is logged and listed with the dead letters. Any other error counts as ambiguous. One
	// dispatcher calls Send for one recipient one at a time, and for different recipients of the
	// channel at the same time; tests of the channel run beside it too.
	Send(ctx context.Context, n Notification) error
}

// Resolver is a channel that says whether it wants to hear of alarms that have cleared. One that is
// no Resolver does.
type Resolver interface {
	TellsResolved() bool
}

// Idempotent is a channel that says whether its peer takes a message once however often it is sent,
// by the key [Notification.ID].
type Idempotent interface {
	TakesKey() bool
}

// Addressed is a channel with several recipients, each of whom may fail alone. Each gets a delivery of
// its own, with retries, dead letter and all: [Notification.Recipient] says whom Send is to tell.
type Addressed interface {
	// Recipients gives keys that tell the recipients apart, at least one, and that stay the same over
	// restarts. They are stored and listed, so they hold no secret: see [RecipientKey].
	Recipients() []string
}

// RecipientKey gives a key for a recipient whose address is a secret, such as a device token: the
// first 12 hex digits of its SHA-256.
func RecipientKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:6])
}

// recipientsOf lists the recipients of a channel, each once; a channel that is not [Addressed] has one
// without a name.
func recipientsOf(c Channel) []string {
	a, ok := c.(Addressed)
	if !ok {
		return []string{""}
	}
	var list []string
	for _, r := range a.Recipients() {
		if r != "" && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	return list
}

func tellsResolved(c Channel) bool {
	r, ok := c.(Resolver)
	return !ok || r.TellsResolved()
}

func takesKey(c Channel) bool {
	k, ok := c.(Idempotent)
	return ok && k.TakesKey()
}

// Outcome is what is known about a message that was not taken.
type Outcome uint8

// The outcomes.
const (
	OutcomeAmbiguous Outcome = iota // the message may have arrived
	OutcomeRetryable                // it has not arrived and may if sent again
	OutcomePermanent                // it has not arrived and never will
)

// SendError is the error of a [Channel].
type SendError struct {
	Outcome Outcome
	After   time.Duration // the peer asked to wait this long before anything else is sent; 0 if it did not
	// OfRecipient says that After is about this recipient. Otherwise all recipients of the channel are left
	// alone: most peers limit an account.
	OfRecipient bool
	Err         error
}

// Error gives the cause's text.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Permanent marks an error: the peer has refused the message for good.
func Permanent(err error) error { return &SendError{Outcome: OutcomePermanent, Err: err} }

// Retryable marks an error: the message has surely not arrived. after is how long the peer asked to
// wait, 0 if it did not.
func Retryable(err error, after time.Duration) error {
	return &SendError{Outcome: OutcomeRetryable, After: after, Err: err}
}

// Ambiguous marks an error: the message may have arrived, such as when the answer was lost.
func Ambiguous(err error) error { return &SendError{Outcome: OutcomeAmbiguous, Err: err} }

// classify reads the error of a channel.
func classify(err error) *SendError {
	var s *SendError
	if errors.As(err, &s) {
		return s
	}
	return &SendError{Outcome: OutcomeAmbiguous, Err: err}
}

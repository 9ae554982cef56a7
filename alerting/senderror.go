package alerting

import "time"

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
	Outcome    Outcome
	RetryAfter time.Duration // the peer asked to wait this long before anything else is sent; 0 if it did not
	// OfRecipient says that After is about this recipient. Otherwise all recipients of the channel are left
	// alone: most peers limit an account.
	RecipientOnly bool
	Err           error
}

// Error returns the cause's text.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Permanent marks an error: the peer has refused the message for good.
func Permanent(err error) error { return &SendError{Outcome: OutcomePermanent, Err: err} }

// Retryable marks an error: the message has surely not arrived. after is how long the peer asked to
// wait, 0 if it did not.
func Retryable(err error, after time.Duration) error {
	return &SendError{Outcome: OutcomeRetryable, RetryAfter: after, Err: err}
}

// Ambiguous marks an error: the message may have arrived, such as when the answer was lost.
func Ambiguous(err error) error { return &SendError{Outcome: OutcomeAmbiguous, Err: err} }

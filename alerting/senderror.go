package alerting

import "time"

// Outcome is what is known about a message that a peer did not accept.
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
	// RecipientOnly limits RetryAfter to this recipient. Otherwise nothing is sent to any recipient of the channel before that, because
	// most peers limit an account.
	RecipientOnly bool
	Err           error
}

// Error returns the cause's text.
func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Permanent marks err: the peer has rejected the message, which becomes a dead letter.
func Permanent(err error) error { return &SendError{Outcome: OutcomePermanent, Err: err} }

// Retryable marks err: the message has not arrived and is sent again. after is how long the peer asked to wait; 0 if it did not.
func Retryable(err error, after time.Duration) error {
	return &SendError{Outcome: OutcomeRetryable, RetryAfter: after, Err: err}
}

// Ambiguous marks err: the message may have arrived, for example because the answer was lost. It is sent again.
func Ambiguous(err error) error { return &SendError{Outcome: OutcomeAmbiguous, Err: err} }

package outbox

import "github.com/otkit/otkit/fault"

// ErrDeadLetterNotFound is returned for an unknown id, and for a delivery that is not a dead letter any more.
var ErrDeadLetterNotFound = fault.New(fault.NotFound, "DEAD_LETTER_NOT_FOUND", "dead letter not found")

// ErrDigestNotFound is returned for a digest that does not exist, was divided because of a silence, or is older than the retention.
var ErrDigestNotFound = fault.New(fault.NotFound, "DIGEST_NOT_FOUND", "digest not found")

// ErrNoDeadLetters is returned for dead letters if the outbox does not implement [DeadLetters].
var ErrNoDeadLetters = fault.New(fault.NotFound, "DEAD_LETTERS_NOT_SUPPORTED", "the outbox of this server does not list dead letters")

// ErrCursorMoved is returned by [Store.Plan] if another dispatcher has planned in between.
var ErrCursorMoved = fault.New(fault.Conflict, "CURSOR_MOVED", "another dispatcher has planned these events")

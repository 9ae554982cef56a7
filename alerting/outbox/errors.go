package outbox

import "github.com/otkit/otkit/fault"

// ErrDeadLetterNotFound is returned for an unknown id, and for a delivery that is not a dead letter any more.
var ErrDeadLetterNotFound = fault.New(fault.NotFound, "DEAD_LETTER_NOT_FOUND", "dead letter not found")

// ErrCursorMoved is what [Store.Plan] gives when another dispatcher has planned in between.
var ErrCursorMoved = fault.New(fault.Conflict, "CURSOR_MOVED", "another dispatcher has planned these events")

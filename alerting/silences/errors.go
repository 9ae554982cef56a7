package silences

import "github.com/otkit/otkit/fault"

// ErrInvalid names the members that break a rule.
var ErrInvalid = fault.New(fault.Invalid, "INVALID_SILENCE", "silence is not valid")

// ErrNotFound is returned for an unknown id.
var ErrNotFound = fault.New(fault.NotFound, "SILENCE_NOT_FOUND", "silence not found")

// ErrEnded is returned for a change of a silence that is over.
var ErrEnded = fault.New(fault.Conflict, "SILENCE_ENDED", "silence has ended; add another one")

// ErrTooMany is returned if there is no room for a silence.
var ErrTooMany = fault.New(fault.Conflict, "TOO_MANY_SILENCES", "too many silences; remove some, or log in to add more")

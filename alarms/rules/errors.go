package rules

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors that callers meet. Their codes are part of the service interface.
var (
	ErrNotFound = fault.New(fault.NotFound, "ALARM_RULE_NOT_FOUND", "alarm rule not found")
	ErrExists   = fault.New(fault.AlreadyExists, "ALARM_RULE_ALREADY_EXISTS", "alarm rule exists already")
	ErrInvalid  = fault.New(fault.Invalid, "INVALID_ALARM_RULE", "alarm rule is not valid")
)

// errUnreadable is why a rule that is stored is not evaluated.
var errUnreadable = errors.New("it cannot be read")

package rules

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors of the package. Their codes are part of the API.
var (
	ErrNotFound = fault.New(fault.NotFound, "ALARM_RULE_NOT_FOUND", "alarm rule not found")
	ErrExists   = fault.New(fault.AlreadyExists, "ALARM_RULE_ALREADY_EXISTS", "alarm rule already exists")
	ErrInvalid  = fault.New(fault.Invalid, "INVALID_ALARM_RULE", "alarm rule is not valid")
	// ErrChanged is for conditions of callers: the rule is not as they have seen it.
	ErrChanged = fault.New(fault.Conflict, "VERSION_CHANGED", "the alarm rule has been changed meanwhile")
)

// errUnreadable is why a stored rule is not evaluated.
var errUnreadable = errors.New("it cannot be read")

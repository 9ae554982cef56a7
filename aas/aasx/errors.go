package aasx

import (
	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// ErrTooLarge means that a package exceeds one of the [Limits].
var ErrTooLarge = fault.New(fault.TooLarge, "AASX_TOO_LARGE", "the AASX package is too large")

// bad returns what is wrong with a package.
func bad(format string, args ...any) error {
	return aas.ErrInvalidRequest.Because("the AASX package "+format, args...)
}

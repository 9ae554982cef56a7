package driverconfig

import "github.com/otkit/otkit/fault"

// Errors of reading settings. Their Fields name each bad member by its path.
var (
	ErrInvalid     = fault.New(fault.Invalid, "INVALID_DRIVER_SETTINGS", "driver settings are not valid")
	ErrUnknownType = fault.New(fault.Invalid, "UNKNOWN_DRIVER_TYPE", "driver type is not known")
)

package derived

import "github.com/otkit/otkit/fault"

// Errors of the service.
var (
	ErrInvalid  = fault.New(fault.Invalid, "INVALID_DERIVED_TAG", "derived tag is not valid")
	ErrCycle    = fault.New(fault.Invalid, "DERIVED_TAG_CYCLE", "derived tags must not depend on themselves")
	ErrNotFound = fault.New(fault.NotFound, "DERIVED_TAG_NOT_FOUND", "derived tag not found")
	ErrExists   = fault.New(fault.AlreadyExists, "TAG_EXISTS", "there is a tag of that name")
	ErrTooMany  = fault.New(fault.Conflict, "TOO_MANY_DERIVED_TAGS", "no more derived tags may be added")
	ErrOwned    = fault.New(fault.Conflict, "DERIVED_TAG_OF_TEMPLATE", "the derived tag belongs to an instance of a template; change the template or the instance")
	ErrChanged  = fault.New(fault.Conflict, "VERSION_CHANGED", "the object has been changed meanwhile")
	ErrStored   = fault.New(fault.Internal, "DERIVED_TAG_UNREADABLE", "a stored definition cannot be read")
)

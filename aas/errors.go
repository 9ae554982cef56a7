package aas

import "github.com/otkit/otkit/fault"

// Failures that callers can tell apart with errors.Is.
var (
	ErrInvalidRequest  = fault.New(fault.Invalid, "INVALID_REQUEST", "the request is not valid")
	ErrElementNotFound = fault.New(fault.NotFound, "SUBMODEL_ELEMENT_NOT_FOUND", "submodel element not found")
	ErrElementExists   = fault.New(fault.AlreadyExists, "SUBMODEL_ELEMENT_ALREADY_EXISTS", "an element with this idShort exists")
)

// errNoElement is returned for a nil Element.
var errNoElement = ErrInvalidRequest.Because("there is no element")

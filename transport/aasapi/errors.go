package aasapi

import "github.com/otkit/otkit/fault"

// Failures of the API itself; those of the domain are in package aas.
var (
	errNotImplemented = fault.New(fault.MethodNotAllowed, "NOT_IMPLEMENTED", "this operation of the standard is not served")
	errNotAcceptable  = fault.New(fault.Unsupported, "NOT_ACCEPTABLE", "none of the accepted media types can be given")
	errNoSuchRange    = fault.New(fault.Invalid, "RANGE_NOT_SATISFIED", "the file has no such range")
	errWrongElement   = fault.New(fault.MethodNotAllowed, "METHOD_NOT_ALLOWED", "the submodel element is of another kind")
	errNotReferenced  = fault.New(fault.NotFound, "SUBMODEL_REF_NOT_FOUND", "the shell does not refer to this submodel")
	errRefExists      = fault.New(fault.AlreadyExists, "SUBMODEL_REF_EXISTS", "the shell refers to this submodel already")
	errHandleNotFound = fault.New(fault.NotFound, "HANDLE_NOT_FOUND", "there is no invocation with this handle")
	errStillRunning   = fault.New(fault.NotFound, "STILL_RUNNING", "the invocation has no result yet")
	errSerializing    = fault.New(fault.Unavailable, "TOO_MANY_SERIALIZATIONS", "too many serializations are being made")
	errTooManyRunning = fault.New(fault.Unavailable, "TOO_MANY_INVOCATIONS", "too many asynchronous invocations are kept")
)

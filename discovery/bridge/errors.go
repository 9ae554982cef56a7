package bridge

import "github.com/otkit/otkit/fault"

// Errors of the package.
var (
	ErrBound       = fault.New(fault.Conflict, "BRIDGE_BOUND", "the bridge is bound to an engine")
	ErrNotBound    = fault.New(fault.NotFound, "BRIDGE_NOT_BOUND", "the bridge is not bound")
	ErrBindSecret  = fault.New(fault.Unauthenticated, "BIND_SECRET", "the bind secret is missing or wrong")
	ErrBindRequest = fault.New(fault.Invalid, "BIND_REQUEST", "the bind request is not valid")
	ErrState       = fault.New(fault.Unavailable, "BRIDGE_STATE", "the binding could not be stored")
	ErrBuffer      = fault.New(fault.Unavailable, "BUFFER_FAILED", "the offline buffer cannot take entries")
	ErrBlocks      = fault.New(fault.Internal, "BUFFER_BLOCKS", "the blocks do not follow what is in the buffer")
	ErrEpoch       = fault.New(fault.Internal, "BUFFER_EPOCH", "the buffer has begun another epoch")
	ErrClosed      = fault.New(fault.Unavailable, "BRIDGE_STOPPED", "the bridge has stopped")
)

package cluster

import "github.com/otkit/otkit/fault"

// The errors of this package.
var (
	// ErrEnded: another member has ended the session, because it was not renewed for the TTL.
	ErrEnded = fault.New(fault.Conflict, "SESSION_ENDED", "the session of the engine has ended")
	// ErrDuplicate: an engine of the same id is running.
	ErrDuplicate = fault.New(fault.Conflict, "ENGINE_RUNNING", "an engine of the same id is running")
	// ErrLost is the cause that ends the context of work whose lease could not be renewed in time.
	ErrLost = fault.New(fault.Unavailable, "LEASE_LOST", "the lease was not renewed in time")
	// ErrMoved is the cause that ends the context of work that another engine is to do, or nobody.
	ErrMoved = fault.New(fault.Unavailable, "LEASE_MOVED", "the lease moves to another engine")
	// ErrEngineNotFound: there is no engine of the id.
	ErrEngineNotFound = fault.New(fault.NotFound, "ENGINE_NOT_FOUND", "engine not found")
	// ErrNoOtherEngine: no engine is there that could take the work over.
	ErrNoOtherEngine = fault.New(fault.Conflict, "NO_OTHER_ENGINE", "no other engine is there to take the work over")
	// ErrClosed: the member is closed.
	ErrClosed = fault.New(fault.Unavailable, "CLUSTER_CLOSED", "the member is closed")
)

package discovery

import "github.com/otkit/otkit/fault"

// The errors of this package.
var (
	ErrInvalid       = fault.New(fault.Invalid, "INVALID_REQUEST", "invalid request")
	ErrNotBound      = fault.New(fault.NotFound, "BRIDGE_NOT_BOUND", "no such bridge is bound")
	ErrAlreadyBound  = fault.New(fault.AlreadyExists, "ALREADY_BOUND", "the bridge is bound already")
	ErrMismatch      = fault.New(fault.Conflict, "BRIDGE_ID_MISMATCH", "another bridge answers at this URL")
	ErrDriverTaken   = fault.New(fault.Conflict, "DRIVER_ID_TAKEN", "the engine has another driver with the id of the bridge's driver")
	ErrTooMany       = fault.New(fault.Conflict, "TOO_MANY_BRIDGES", "too many bridges are bound")
	ErrConnection    = fault.New(fault.BadGateway, "BRIDGE_CONNECTION_FAILED", "the bridge cannot be reached")
	ErrBadAnswer     = fault.New(fault.BadGateway, "BRIDGE_ANSWER_INVALID", "the answer of the bridge is not valid")
	ErrBadManifest   = fault.New(fault.BadGateway, "BRIDGE_MANIFEST_INVALID", "the manifest of the bridge is not valid")
	ErrDenied        = fault.New(fault.BadGateway, "BRIDGE_REFUSED", "the bridge refuses the call")
	ErrNoEngineURL   = fault.New(fault.Conflict, "ENGINE_URL_UNKNOWN", "the engine does not know the URL at which the bridge can reach it")
	ErrScansBusy     = fault.New(fault.TooMany, "TOO_MANY_SCANS", "too many scans run")
	ErrScanFailed    = fault.New(fault.Unavailable, "SCAN_FAILED", "the network cannot be scanned")
	ErrDriverChanged = fault.New(fault.Conflict, "DRIVER_ID_CHANGED", "the bridge's driver has another id than when it was bound; unbind and bind it again")
	ErrLate          = fault.New(fault.Conflict, "BRIDGE_LINK_MOVED", "another engine has taken over the link of the bridge")
	ErrClosed        = fault.New(fault.Unavailable, "DISCOVERY_CLOSED", "the service is closed")
)

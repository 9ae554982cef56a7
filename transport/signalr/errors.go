package signalr

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors of a hub, for its callers and clients.
var (
	ErrNotEncodable       = fault.New(fault.Internal, "HUB_MESSAGE_NOT_ENCODABLE", "message cannot be encoded as JSON")
	ErrInvalidRequest     = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
	ErrConnectionNotFound = fault.New(fault.NotFound, "HUB_CONNECTION_NOT_FOUND", "there is no such connection")
	ErrConnectionInUse    = fault.New(fault.Conflict, "HUB_CONNECTION_IN_USE", "the connection is not in a state for this request")
	ErrNotOwner           = fault.New(fault.Forbidden, "HUB_CONNECTION_NOT_YOURS", "the connection belongs to another user")
	ErrOriginNotAllowed   = fault.New(fault.Forbidden, "ORIGIN_NOT_ALLOWED", "pages of this origin may not connect")
	ErrFull               = fault.New(fault.Unavailable, "HUB_FULL", "the hub has as many connections as it takes")
	ErrTooMany            = fault.New(fault.TooMany, "HUB_TOO_MANY_CONNECTIONS", "the caller has as many connections to the hub as one may have")
	ErrNoMethod           = fault.New(fault.NotFound, "HUB_METHOD_NOT_FOUND", "the hub has no such method")
	ErrTooFast            = fault.New(fault.TooMany, "HUB_TOO_MANY_INVOCATIONS", "the client invokes methods too fast")
	ErrClosed             = fault.New(fault.Unavailable, "HUB_CLOSED", "the hub is closed")
)

// Reasons why a connection ended.
var (
	errSlow         = errors.New("client reads too slowly")
	errSilent       = errors.New("client has sent nothing for too long")
	errNotPolling   = errors.New("client has stopped polling")
	errNotConnected = errors.New("client has not connected after negotiation")
	errNoHandshake  = errors.New("handshake took too long")
	errHandshake    = errors.New("handshake was refused")
	errMessage      = errors.New("client sent a message that is not valid")
	errTooLarge     = errors.New("client sent a message that is too large")
	errLifetime     = errors.New("lifetime has ended")
	errClient       = errors.New("client has closed the connection")
	errGone         = errors.New("client has gone")
)

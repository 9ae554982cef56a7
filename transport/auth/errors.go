package auth

import (
	"errors"

	"github.com/otkit/otkit/fault"
)

// Errors that callers of guarded operations meet.
var (
	// ErrUnauthenticated stands for everything that is wrong with a login; its cause is for logs.
	ErrUnauthenticated = fault.New(fault.Unauthenticated, "UNAUTHORIZED", "not logged in, or the credentials are not valid")
	// ErrForbidden refuses a caller whose role is too low.
	ErrForbidden = fault.New(fault.Forbidden, "FORBIDDEN", "your role does not allow the operation")
	// ErrIssuerUnavailable means that an external issuer's keys are unavailable.
	ErrIssuerUnavailable = fault.New(fault.Unavailable, "ISSUER_UNAVAILABLE", "the token's issuer cannot be reached")
	// ErrOutsideSession refuses to log out a session that another issuer opened.
	ErrOutsideSession = fault.New(fault.Conflict, "OUTSIDE_SESSION", "the session was opened by another issuer and ends there")
	// ErrUndeclared refuses a gRPC method that is not in the table of operations.
	ErrUndeclared = fault.New(fault.Internal, "INTERNAL_ERROR", "operation is not declared")
)

// errNoSubject is the failure of an authenticator whose principals could not be told apart.
var errNoSubject = errors.New("auth: the Authenticator returned a Principal without Subject")

// roleNames are the roles that operations need.
var roleNames = map[Access]string{Viewer: "Viewer", Operator: "Operator", Admin: "Admin"}

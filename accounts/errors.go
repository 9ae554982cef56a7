package accounts

import "github.com/otkit/otkit/fault"

// Errors of the service, besides those of the stores.
var (
	// ErrInvalidAccount names the member (username, password, role) that breaks a rule.
	ErrInvalidAccount = fault.New(fault.Invalid, "INVALID_ACCOUNT", "account is not valid")
	// ErrCredentials is returned for an unknown name and for a wrong password.
	ErrCredentials = fault.New(fault.Unauthenticated, "INVALID_CREDENTIALS", "user name or password is wrong")
	// ErrRefreshToken is returned for a refresh token that is malformed, unknown, used or of an ended session.
	ErrRefreshToken = fault.New(fault.Unauthenticated, "INVALID_REFRESH_TOKEN", "refresh token is not valid")
	// ErrSessionEnded is returned for a session that was logged out, ended by a change of its account, or expired.
	ErrSessionEnded = fault.New(fault.Unauthenticated, "UNAUTHORIZED", "session has ended")
	// ErrTooManyLogins refuses a login without checking the password. Its Metadata "retryAfter"
	// has the whole seconds to wait; see [RetryAfter].
	ErrTooManyLogins = fault.New(fault.TooMany, "TOO_MANY_LOGINS", "too many login attempts, try again later")
)

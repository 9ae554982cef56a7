package auth

import "context"

// Request is what a call over HTTP or gRPC shows of its caller.
type Request interface {
	// Token returns the bearer token of the call, empty when it has none. ok is false when the call has
	// a malformed Authorization header, or more than one.
	Token() (token string, ok bool)
	// Header returns the values of an HTTP header or of a gRPC metadata key, in any case.
	Header(name string) []string
}

// Authenticator determines who makes a call. [Authority] is one, for the tokens of accounts and of an
// OpenID Connect issuer; an embedder's login is another. The same one serves REST, gRPC and hubs.
//
// Implementations must be safe for concurrent use. Every guarded call waits for them.
type Authenticator interface {
	// Authenticate returns the principal of a call, or nil when the call has no credentials that this
	// authenticator knows. For credentials that are wrong it returns an error that is
	// [ErrUnauthenticated]; any other error means that they could not be checked. A principal that comes
	// with an error does not count. One without Subject fails the call.
	//
	// ctx has the values of the request's context, so that middleware in front can say who calls.
	Authenticate(ctx context.Context, r Request) (*Principal, error)
}

// AuthenticatorFunc lets a function be an [Authenticator].
type AuthenticatorFunc func(ctx context.Context, r Request) (*Principal, error)

// Authenticate implements [Authenticator].
func (f AuthenticatorFunc) Authenticate(ctx context.Context, r Request) (*Principal, error) {
	return f(ctx, r)
}

// Checker reports whether a principal still counts. Streams ask about once a second.
type Checker interface {
	// CheckPrincipal returns an error that is [ErrUnauthenticated] when the principal's token or session
	// has ended. Other errors mean that it could not be checked, and end no stream.
	CheckPrincipal(ctx context.Context, p *Principal) error
}

// First returns an authenticator that asks several in turn. The first one that returns a principal or
// an error decides.
func First(list ...Authenticator) Authenticator {
	if len(list) == 1 {
		return list[0]
	}
	return AuthenticatorFunc(func(ctx context.Context, r Request) (*Principal, error) {
		for _, a := range list {
			if p, err := a.Authenticate(ctx, r); p != nil || err != nil {
				return p, err
			}
		}
		return nil, nil
	})
}

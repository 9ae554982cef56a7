package operation

import (
	"context"
	"net/http"
)

// Access is who may call an operation. The zero value is not valid, so that a row that forgets it opens
// nothing.
type Access uint8

// The kinds of access, from open to closed. Each role includes the ones before it.
const (
	Open     Access = iota + 1 // without a token
	AnyRole                    // any valid login, even without a role
	Viewer                     // role Viewer or higher
	Operator                   // role Operator or higher
	Admin                      // role Admin
)

// Operation is something that callers may ask for, by REST, gRPC or both.
type Operation struct {
	Part   string   // that serves it, for errors and lists; the server sets it
	ID     string   // operationId of the OpenAPI document, where it is in there
	Method string   // HTTP method; empty for an operation of gRPC alone
	Path   string   // path as chi writes it, from the root of the server
	GRPC   []string // full method names: /package.Service/Method
	Access Access
	// OpenSurface marks an operation that needs no token unless auth.GuardOptions.OpenTo refuses the caller.
	OpenSurface bool
	// OpenTo decides in place of auth.GuardOptions.OpenTo who may call an operation marked OpenSurface without a token, by the
	// headers Host and Origin; its error is the answer to others. It must return immediately. Nil: auth.GuardOptions.OpenTo decides.
	OpenTo func(ctx context.Context, host, origin string) error
	// Unaudited is why calls that are neither GET nor HEAD are not in the audit log. Empty: they are, and calls are
	// refused while the log cannot be written. An operation that is Open needs a reason, because its callers are unknown.
	Unaudited string
	// AuditOptional marks an operation that must not depend on the audit log: it is recorded after the act, if possible.
	AuditOptional bool
	// QueryToken marks an operation that also takes the token in the query parameter access_token,
	// for browser APIs that cannot set headers.
	QueryToken bool

	// Stream marks an operation over HTTP whose answer has no end. Its context ends with the caller's
	// token or session and with the server, and it counts as one of the caller's open streams.
	Stream bool
	// MaxStreams is how many streams of the operation over gRPC one caller may have open, counted apart from its other
	// ones: so those of many machines behind one address take no places from the people there. 0: all count together.
	MaxStreams int
	// Gzip marks an operation whose answers are compressed for clients that accept it: those that carry no secret and no ETag.
	Gzip bool
	// Media are content types that the operation reads beside JSON, itself.
	Media []string
	// RawBody marks an operation that reads a body of any content type and size itself.
	RawBody bool
	// OwnRate counts the calls of an account to this operation apart from its others, so that these cannot crowd out an
	// emergency stop.
	OwnRate bool
	// RateLimited is the answer to a caller who asks too often. Nil: limit.ErrTooFast.
	RateLimited error
}

// Audited reports whether calls of the operation belong in the audit log: those that may change something.
func (o Operation) Audited() bool {
	return o.Unaudited == "" && o.Method != http.MethodGet && o.Method != http.MethodHead
}

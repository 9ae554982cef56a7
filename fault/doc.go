// Package fault defines the error type of otkit.
//
// A domain package declares its errors as values of [Error], made by [New]. Each has a [Kind] from a closed list and a stable Code
// for clients. The methods [Error.On], [Error.Because] and [Error.Wrap] add the subject, the reason and the cause to a copy. The
// declared value does not change, so errors.Is(err, tags.ErrTagNotFound) is true for every copy.
//
// Package transport/problem maps kinds to HTTP status codes and gRPC codes. Package fault depends on neither.
package fault

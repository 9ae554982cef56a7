// Package fault is the one error type of otkit.
//
// A domain package declares its errors as values of [Error] made by [New]: each has a [Kind] from a
// closed list and a stable Code that clients may switch on. What went wrong with which thing is
// added with [Error.On], [Error.Because] and [Error.Wrap], which copy; the declared value itself
// never changes, so that errors.Is(err, tags.ErrTagNotFound) holds for every copy.
//
// Transports turn a Kind into an HTTP status and a gRPC code in one table
// (package transport/problem). Nothing in here knows about either.
package fault

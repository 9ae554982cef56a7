// Package problem is the one place where an error becomes an answer on the wire.
//
// Domain packages return a [github.com/otkit/otkit/fault.Error] and know nothing of transports. The
// table in this package maps each kind of fault to its HTTP status and its gRPC code ([Lookup]);
// [Write] answers an HTTP request in the body form of its [Family], [GRPC] makes a gRPC status, and
// [FromDecode] turns what goes wrong while a body is read into a fault.
//
// What failed inside never leaves the process: the answer carries a trace id, and the log line of
// that trace id has the cause.
package problem

// Package grpcapi serves the gRPC surfaces over the domain packages. It turns protobuf messages into
// domain calls and back, and nothing else: who may call is decided by the guard of package
// transport/auth, and what an error looks like on the wire by package transport/problem.
package grpcapi

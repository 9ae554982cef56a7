// Package tagsapi serves the REST API of tags: reading, writing, history and streams.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth. The
// configuration of tags is package tagconfigapi, the gRPC API package tagsgrpc.
package tagsapi

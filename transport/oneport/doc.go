// Package oneport lets an HTTP/1.1 server and a gRPC server share one TCP port, each with its own
// listener and its native speed.
//
// Without TLS a connection that opens with the HTTP/2 preface (RFC 9113, section 3.4) goes to gRPC,
// every other one to HTTP. With TLS the protocol is settled first (ALPN, RFC 7301): a client that
// offers http/1.1, as browsers and HTTP libraries do, gets http/1.1 even when it offers h2 as well; a
// client that offers only h2, as gRPC clients do, gets h2. After that the first bytes decide as
// without TLS.
//
// A connection is looked at in a goroutine of its own, for a limited time, and counts against a limit
// of connections, so that a slow, silent or hostile client does not delay others.
package oneport

// Package server composes the parts of an engine into one server, to be run by cmd/engine or embedded
// into another program. A [Part] contributes a domain's routes, gRPC services, operations, health checks,
// metrics and jobs. The server knows no domain: it adds authentication, limits, audit, health, metrics
// and tracing, and closes the parts in order.
//
// [Server.Run] serves HTTP and gRPC on one port. [Server.Serve] does so on a given listener. A program
// with servers of its own calls [Server.Start], mounts [Server.Handler], registers the gRPC services
// with [Server.RegisterGRPC], and calls [Server.Close] before it closes its own servers.
package server

// Package server is the engine as a whole, to be run by cmd/engine or embedded into another program:
// it wires the domain packages to the REST and gRPC surfaces, to authentication, health, metrics and
// tracing, behind one port. Storage and drivers come in as options, so that an embedder can bring
// their own.
package server

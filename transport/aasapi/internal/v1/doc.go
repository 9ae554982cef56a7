// Package v1 has what the REST and the gRPC surface of asset administration shells, version 1 of the
// interface, have in common: which shells they take, how an update changes one, and how pages are asked for.
package v1

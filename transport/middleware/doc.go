// Package middleware has the layers around every handler of the HTTP surface, each a
// func(http.Handler) http.Handler as chi takes them, and the like for gRPC.
//
// The order that works, from the outside in: Trace, AccessLog, Recover, SecurityHeaders, CORS,
// EscapedPath, Fallbacks (which needs the router), MaxBody, and JSONBody just before the handlers.
// NewServer wraps the whole in an http.Server with limits and time limits.
package middleware

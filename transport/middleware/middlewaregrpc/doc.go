// Package middlewaregrpc has the interceptors that do for gRPC what package middleware does for HTTP.
package middlewaregrpc

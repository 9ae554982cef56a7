// Package health runs a server's health checks and answers /health, /health/ready and /health/live,
// and the standard gRPC health service, with what they found.
package health

// Package problemgrpc turns errors into statuses of gRPC, by the table of package problem.
package problemgrpc

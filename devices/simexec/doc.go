// Package simexec simulates mobile robots and arms, for demonstrations and tests. They move straight, use and charge their batteries,
// carry one load and fail now and then. The same seed gives the same faults.
package simexec

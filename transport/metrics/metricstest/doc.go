// Package metricstest helps to test the collectors of parts.
package metricstest

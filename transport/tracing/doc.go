// Package tracing sends OpenTelemetry traces to an OTLP collector. Without an endpoint there is no
// tracing, and it costs a request nothing. Nothing is registered globally: the provider is handed to
// those who need it.
package tracing

// Package discovery finds bridges on the network and binds them to an engine.
package discovery

// Package bridgepart is the part of a server for a bridge: its REST API, who may call it, and its health checks.
package bridgepart

// Package bridgehost is a whole bridge: a list of parts behind package transport/server. The driver, the database and the offline buffer
// come in as options, so that an embedder can bring their own.
package bridgehost

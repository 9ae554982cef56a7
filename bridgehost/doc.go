// Package bridgehost is a whole bridge: a list of parts behind package transport/server. The driver, the database and the offline buffer
// come in as options, so that an embedder can bring their own.
//
// The bridge reads one driver and delivers its samples to the engine that it is bound to; see package discovery/bridge. Without an account,
// [Bridge.Welcome] says how the first one is made.
package bridgehost

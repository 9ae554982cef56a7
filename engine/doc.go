// Package engine is the whole server: a list of parts, one a domain, behind package transport/server.
// Storage and drivers come in as options, so that an embedder can bring their own.
//
// [New] is the list of the parts. An embedder who needs fewer of them makes those and gives them to
// server.New; one who needs more adds them as [Options].Parts.
package engine

// Package bridgelink carries the link of a bridge and its engine over gRPC: a [Server] for engines and [Dial] for bridges. Package discovery/link
// describes what travels over it.
//
// A link over https trusts the keys that the engine named when the bridge was bound, and no certificate authority: engines in plants
// have certificates of their own making. See [Pin]. A link over http is neither encrypted nor proves who the engine is.
//
// A peer that is gone or stopped without a word is noticed within 30 seconds.
package bridgelink

// Package bridge is the bridge's side of a binding: it delivers what a driver reads to an engine, every sample in order, whatever the
// network does.
//
// # From driver to engine
//
// A [Host] observes the tags of one driver in a [tags.Engine]. While it is bound, it numbers each change and writes it to a [Buffer] within
// 20 ms. It opens a link to its engine (package link), sends the numbered entries in order and removes what the engine acknowledges.
// While older entries wait, the newest value of each tag goes ahead of them.
//
// # Binding
//
// A free bridge takes the first engine that asks ([Host.Bind]) and stores it in a file before it answers. The engine gets a token,
// which the first link exchanges for a session key. A bridge whose engine refuses the link is free again. What is buffered for an engine stays
// until its lifetime ends, is delivered if the same engine binds the bridge again, and is discarded if another one does.
//
// # Writes
//
// Writes of the engine pass the checks of the bridge's own tag engine: access, type and limits. One that arrives after its deadline is
// refused, also when the bridge's process was stopped in between.
package bridge

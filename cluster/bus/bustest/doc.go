// Package bustest is the conformance suite for [bus.Bus].
//
// Whoever carries the messages of the engines some other way runs [TestBus]: a bus that passes can stand behind package clusterpart.
package bustest

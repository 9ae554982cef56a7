// Package discoverytest is the conformance suite for [discovery.Store].
//
// Whoever keeps bindings somewhere else runs [TestStore]: a store that passes can stand behind [discovery.Service].
package discoverytest

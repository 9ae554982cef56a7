// Package clustertest is the conformance suite for [cluster.Store].
//
// Whoever keeps sessions and leases somewhere else runs [TestStore]: a store that passes can stand behind [cluster.Member].
package clustertest

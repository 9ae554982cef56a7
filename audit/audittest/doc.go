// Package audittest is the conformance suite for [audit.Store].
//
// Whoever stores the audit log somewhere else runs [TestStore]: a store that passes can stand behind [audit.Log].
package audittest

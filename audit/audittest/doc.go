// Package audittest is the conformance suite for [audit.Store].
//
// If you keep the audit log in a store of your own, run [TestStore] against it. A store that passes can stand behind an
// [audit.Log].
package audittest

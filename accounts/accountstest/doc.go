// Package accountstest is the conformance suite for [accounts.Store] and [accounts.SessionStore].
//
// If you keep accounts in a store of your own, run [TestStore] against it. A store that passes can stand behind an
// accounts.Service.
package accountstest

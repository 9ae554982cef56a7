// Package accountstest is the conformance suite for [accounts.Store] and [accounts.SessionStore].
//
// Whoever keeps accounts somewhere else runs [TestStore] against it: a store that passes can stand
// behind accounts.Service.
package accountstest

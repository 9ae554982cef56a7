// Package aastest is the conformance suite for [repository.Store].
//
// If you keep shells and submodels in a store of your own, run [TestStore] against it. A store that passes can stand
// behind a repository.Service.
package aastest

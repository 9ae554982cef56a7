// Package aastest is the conformance suite for [repository.Store].
//
// Whoever keeps shells and submodels somewhere else runs [TestStore] against it: a store that passes
// can stand behind aas.Service.
package aastest

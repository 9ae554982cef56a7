// Package devicestest is the conformance suite for [devices.Store].
//
// Whoever keeps devices somewhere else runs [TestStore]: a store that passes can stand behind [devices.Service].
package devicestest

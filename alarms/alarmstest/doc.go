// Package alarmstest is the conformance suite for [alarms.Store].
//
// If you keep alarms in a store of your own, run [TestStore] against it. A store that passes can stand behind an alarms.Service.
package alarmstest

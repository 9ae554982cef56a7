// Package alarmstest is the conformance suite for [alarms.Store] and [alarms.RuleStore].
//
// Whoever keeps alarms somewhere else runs [TestStore] and [TestRuleStore] against it: a store that
// passes can stand behind alarms.Service and alarms.Rules.
package alarmstest

// Package alertingtest is the conformance suite for the stores of package alerting.
//
// If you keep silences, records or deliveries in a store of your own, run [TestSilenceStore], [TestHistoryStore] or [TestOutbox]
// against it. A store that passes can stand behind a silences.Service, a history.Service and an alertsource.Receiver, or a
// dispatch.Dispatcher.
package alertingtest

// Package alertingtest is the conformance suite for the stores of package alerting.
//
// Whoever keeps silences, records or deliveries somewhere else runs [TestSilenceStore],
// [TestHistoryStore] and [TestOutbox] against it: a store that passes can stand behind
// alerting.Silences, alerting.History, alerting.Webhook and alerting.Dispatcher.
package alertingtest

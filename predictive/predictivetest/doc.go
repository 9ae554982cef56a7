// Package predictivetest has the conformance suites for [predictive.RecordStore] and [predictive.Registry].
//
// Whoever keeps records or models somewhere else runs [TestRecordStore] or [TestRegistry]: what passes can stand behind
// [predictive.Service].
package predictivetest

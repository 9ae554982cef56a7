// Package predictivetest has the conformance suites for [predictive.RecordStore], [predictive.Registry] and [predictive.JobStore].
//
// Whoever keeps records, models or trainings somewhere else runs [TestRecordStore], [TestRegistry] or [TestJobStore]: what passes can stand behind
// [predictive.Service].
package predictivetest

// Package monitor makes predictions on a timer. A [Monitor] predicts for the targets that patterns choose, one after the other
// and spread over an interval, and passes each [Result] to a [Sink], such as a [Latest]. A target is failing after n of its last
// m results were positive. A [Retrainer] trains models on a schedule, or when the data have drifted from those of the training.
//
// Packages predictive/predictivetags and alarms/predictivealarms show the results.
package monitor

// Package features turns the samples of signals into rows for a learner: what the last hours of each signal look like,
// and how far the unit has moved from its own beginning.
//
// # Features
//
// Each signal has these features, in this order, and each unit its age:
//
//	mean                mean of the samples in the window
//	stdDev              standard deviation of the samples in the window, with n-1
//	trend               least-squares slope in the window, per hour
//	last                the newest sample in the window
//	shortMean           mean of the samples in the short window
//	baselineDifference  shortMean minus the mean of the first samples of the unit's life
//	ewma                exponentially weighted mean of the window
//	age                 hours since the start of the life
//
// A feature without enough samples is NaN, which the learners of package learn take as a missing value: stdDev and trend
// need two samples at different times.
//
// # Time
//
// All spans are counted in steps of [Options].Step. Time is divided into steps, each without its beginning and with its
// end, and the samples of a step are kept as six sums, so that memory does not grow with the rate of sampling. Mean,
// deviation and slope of a window are those of its samples, exactly: each sample counts with its own time. A window ends
// with the step of the row's time, so a row in the middle of a step sees a last step that is not full.
//
// Nothing depends on equal distances. Data in cycles are given one hour per cycle, and then "per hour" reads "per cycle".
// Gaps leave steps empty, and what is older than the window is forgotten. Samples that are not finite or are beyond 1e100
// are dropped. The caller drops samples of bad quality, which [Clean] does for a list. A sample that repeats the time of the
// newest one of its signal, or is before it, is dropped: use [Clean] where an order is not known. A row never sees a
// sample later than itself.
//
// # Operating conditions
//
// A [Fitter] finds operating conditions in the signals that are settings, and how each other signal behaves in each
// condition. With several conditions a sample is moved to the scale that it would have in the average condition before it
// enters a window, so that features keep the unit of the signal. With one condition samples are left as they are. The
// fitter also drops signals that never change.
//
// # Use
//
// Read the history twice: give it to a [Fitter], then to one [Life] for each unit from its start to its failure, asking
// for rows on the way and putting them into a [Dataset]. Both take samples one by one and need memory for the window
// only. A prediction needs a Life that has seen one window of samples: keep one per unit and feed it, or make one with
// [Extractor.Resume] and the samples of the last [Extractor.Span].
package features

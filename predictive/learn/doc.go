// Package learn has the learners of predictive maintenance and the figures that judge them. It uses the standard library and
// gonum only, so it can be used without the rest of the module.
//
// # Data
//
// A [Matrix] has one row per observation and one column per feature. NaN is a missing value, and every learner says what it
// does with one. Labels are slices with one element per row. A learner reads its data only while it is fitted.
//
// # Learners
//
//   - [Boost]: gradient-boosted trees for regression and for the probability of an event
//   - [Ridge]: linear regression for few observations
//   - [Isotonic], [Platt]: probabilities that match frequencies
//   - [Conformal]: intervals around the predictions of any regression
//   - [Conditions]: operating conditions, found from settings, with a scale for each
//   - [PCA] and [Monitor]: anomalies of rows, by how columns move together
//   - [Detector]: anomalies of one signal as its samples come
//   - [Season], [Histogram]: patterns that repeat, and drift of a feature
//
// A fitted model is immutable and safe for concurrent use. It is the same, to the byte, for the same data, options and seed,
// whatever the number of processors. Each model implements [encoding.BinaryMarshaler] and [encoding.BinaryUnmarshaler]; see [ErrModel].
// A [Detector] and a [Monitor] learn or remember; their snapshots continue exactly.
//
// # Errors
//
// Data that cannot be learned from gives an error that wraps [ErrData] and says which value is wrong or how much is missing.
// A canceled context gives its error. Nothing panics on bad data.
package learn

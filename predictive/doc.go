// Package predictive predicts failures, remaining useful lives and anomalies from the history of tags.
//
// A [Service] reads samples from a [History], equipments and their tags from an [Inventory], and failures and replacements from a
// [RecordReader]; it keeps its models in a [Registry].
//
// # Lives
//
// The life of a component begins when it is replaced or repaired. It ends with a failure, or with a preventive replacement: then it would have
// lasted longer, by how much is not known, and only the rows that are far enough from the end are learned from. Failures that name no
// component count for the equipment. To tell the age of the first components, record their installation as a preventive replacement.
//
// # Models
//
// A training makes one model for all equipments of the plant. A failure model has a predictor for each role, which is what tags of the same
// meaning share among equipments, and a pooled one for other tags, which uses only how a tag moves against its own spread. An RUL
// model has one for each component with enough failures and a pooled one. Trees are boosted; for few lives, a line serves. See packages
// [github.com/otkit/otkit/predictive/features] and [github.com/otkit/otkit/predictive/learn].
//
// # Honesty
//
// Probabilities are calibrated by Platt's method, and remaining lives have split-conformal intervals, both with predictions for equipments
// that the predicting model did not see. [Metrics] are of whole lives that began after all lives of the training had ended or, where a
// fleet runs side by side, of equipments that the training did not see; nothing is learned from them, neither operating conditions nor the step of
// the features nor the longest life that can be told. Lives that have not failed judge as far as no failure was near, so that false alarms on
// healthy equipment count. The model that is stored is the one that was judged. A remaining
// life above 60% of the median life cannot be told and is reported as that limit. The [Confidence] of an answer falls when samples are
// few, old or unlike those of the training.
//
// # Anomalies
//
// Anomaly calls need no training: they judge the newest sample by the history of the tag, and change nothing. Several tags are judged
// by how they moved together before.
package predictive

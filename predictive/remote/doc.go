// Package remote is a [predictive.Model] that asks a server by HTTP, so that a model can be served by any language.
//
// # Wire format
//
// Each prediction is a POST with a JSON object:
//
//	modelType       FailurePrediction or RUL
//	equipmentId     string
//	tagId, role     of a failure prediction: the tag, and the name that tags of its meaning share
//	componentName   of a remaining life
//	at              moment of the prediction, RFC 3339 in UTC
//	horizonHours    how far ahead a failure is predicted
//	stepSeconds     what the features are counted in, as stepSeconds of the training set
//	features        object of numbers by their names, null where there are too few samples; see [predictive.ModelInput]
//	samples         only with Options.Samples: by the ids of tags, an object with the arrays times (RFC 3339) and values, oldest first
//
// The answer has the status 200 and a JSON object. For a failure prediction:
//
//	probability     0 to 1, required
//	threshold       from which Failure is predicted, above 0 and at most 1; default 0.5
//	confidence      0 to 1; default 0.5
//
// For a remaining life, in days:
//
//	days            required
//	lowDays         required; days is at least so much with a probability of 95%
//	highDays        required; days is at most so much with a probability of 95%
//	capDays         the longest life that the model predicts, optional
//	confidence      0 to 1; default 0.5
//
// Other members are ignored. Numbers are finite: NaN is no JSON. The names of the features are the columns of the training set, which
// [predictive.Service.Export] writes, so a model that was trained with it takes them as they are.
//
// # Failures
//
// A server that does not answer, or answers with another status or what cannot be used, makes the prediction
// [predictive.ErrModelNotAvailable] with the reason; texts of the server are not passed on. After some failures in a row the server is
// left alone: predictions fail immediately, and one at a time tries it again after a pause. Redirects are not followed, and no proxy is used.
package remote

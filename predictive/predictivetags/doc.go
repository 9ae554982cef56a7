// Package predictivetags shows predictions as tags. A [Driver] reads them from a [Source]; all are read-only:
//
//	predictive.<equipment>.<tag>.failureProbability     0 to 1
//	predictive.<equipment>.<component>.rulDays          remaining life, days
//	predictive.<equipment>.<component>.rulLowDays       lower limit of the remaining life, days
//	predictive.<equipment>.<component>.healthScore      0 to 1
//	predictive.<equipment>.<tag or component>.failing   whether enough of the last results were positive
//	predictive.<equipment>.<tag or component>.confidence  0 to 1
//	predictive.<tag>.anomalyScore                       0 to 1
//	predictive.<tag>.anomaly                            whether the newest sample is anomalous
//
// A target has tags as soon as there is a model for it. While a prediction cannot be made, they are Bad: with the reason
// DeviceError for too little history or no model, Timeout if it takes too long, NotConnected for a store that fails, and Stale if no
// prediction has been made for a while. The time stamp is that of the prediction. Of two targets with the same name, the first in the
// order of kind, equipment and name is shown; a target whose tags would have an invalid name is not.
package predictivetags

// Package predictive predicts failures, remaining useful lives and anomalies from the history of tags.
package predictive

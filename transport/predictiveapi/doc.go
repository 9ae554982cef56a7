// Package predictiveapi serves the REST API of predictive maintenance: predictions, anomalies, trainings and their jobs, models, and
// the records of failures and replacements.
//
// Who may call an operation is decided by a guard in front of the router; see package transport/auth.
package predictiveapi

// Package modelstore keeps the models of predictions and their trainings in a database, for engines that share it: [Store] is predictive.Registry and
// predictive.JobStore.
//
// A model is verified by its SHA-256 each time that it is read. One that does not match is damaged and never returned; the one before it serves. The model
// that serves stays in memory, so that asking for it again costs a look at its version.
package modelstore
